/// The identity of a receiver, from its answer or from the messages that it sends.
public struct ReceiverIdentity: Equatable, Sendable {
  /// The protocol that the receiver uses for commands.
  public var driver: ReceiverDriver
  /// The software that the receiver states; `nil` if it was not asked or states none.
  public var software: String?
  public var hardware: String?
  /// Additional statements, such as `PROTVER=18.00`.
  public var extensions: [String]
  /// The receiver's unique number; `nil` if it does not state one.
  public var uniqueID: String?
  /// Whether the receiver reports its positions in binary messages. It may send sentences as well.
  public var reportsInMessages = false

  public init(
    driver: ReceiverDriver, software: String? = nil, hardware: String? = nil, extensions: [String] = []
  ) {
    self.driver = driver
    self.software = software
    self.hardware = hardware
    self.extensions = extensions
  }
}

extension ReceiverIdentity {
  /// Whether the two identities certainly belong to different receivers.
  func isOther(than identity: ReceiverIdentity) -> Bool {
    guard let uniqueID, let other = identity.uniqueID else { return false }
    return uniqueID != other
  }

  /// The part of a receiver's identity that its regular output shows.
  public struct Speech: Equatable, Sendable {
    /// The protocol of the last UBX or CASIC message; `nil` if there was none.
    public internal(set) var driver: ReceiverDriver?
    public internal(set) var reportsInMessages = false

    public init() {}
  }

  /// The identity from a receiver's answer, corrected by its later output.
  public static func of(_ answered: ReceiverIdentity?, heard: Speech) -> ReceiverIdentity? {
    guard let driver = heard.driver else { return answered }
    var identity = answered?.driver == driver ? answered ?? .init(driver: driver) : .init(driver: driver)
    identity.reportsInMessages = heard.reportsInMessages
    return identity
  }
}
