import HardwareIO

/// The source of a receiver's corrections: a mount point of an NTRIP caster, as in the board file.
public struct CasterSettings: Equatable, Sendable {
  /// A host name, or an address without brackets.
  public var host: String
  public var port: UInt16
  /// Whether TLS is used, with a check of the caster's certificate.
  public var isEncrypted = false
  public var mountPoint: String
  public var username: String?
  /// The file with the password; `nil` for systemd's credential `ntrip-password`, or for no password.
  public var passwordFile: String?
  /// The file with the certificate authorities for casters with TLS; `nil` for the system's.
  public var caFile: String?
  /// The version of the protocol in the request, 1 or 2. Answers in either version are understood.
  public var version = 2
  /// The interval at which the hub sends the receiver's position to the caster; `nil` for never.
  public var positionInterval: Duration?
  /// The casters to try, in order, if this one sends nothing. They have no alternatives of their own.
  public var alternatives: [CasterSettings] = []

  /// This caster and its alternatives, in order.
  public var inOrder: [CasterSettings] { [self] + alternatives }

  public init(host: String, port: UInt16 = 2101, mountPoint: String) {
    self.host = host
    self.port = port
    self.mountPoint = mountPoint
  }

  /// The caster's address for a connection.
  public var server: ServerAddress {
    ServerAddress(host: host, port: port, isEncrypted: isEncrypted, caFile: caFile)
  }

  /// The host's IP address; `nil` if the host is a name.
  public var address: IPAddress? { server.address }

  /// Whether the caster is on this machine.
  public var isLoopback: Bool { server.isLoopback }
}

extension CasterSettings: CustomStringConvertible {
  /// The host and port: `caster.example:2101`.
  public var authority: String { server.authority }

  /// The address without the user's name.
  public var description: String { "\(isEncrypted ? "ntrips" : "ntrip")://\(authority)/\(mountPoint)" }
}

extension CasterSettings {
  private static let expected = "an address with a mount point, such as \"ntrip://user@caster.example:2101/MOUNT\""
  private static let usualPort: UInt16 = 2101
  /// NTRIP 2 over TLS is HTTPS, and the public casters of BKG, IGS and EUREF use its port.
  private static let usualPortOfTLS: UInt16 = 443
  private static let usualPositionSeconds = 10.0
  private static let mostAlternatives = 8

  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    var texts = try section.stringOrStrings("caster") ?? []
    if !section.has("caster") { texts = [try section.required("caster")] }
    guard let first = texts.first, texts.count <= CasterSettings.mostAlternatives else {
      throw section.wrong("caster", expected: "an address, or a list of 1 to \(CasterSettings.mostAlternatives)")
    }
    try self.init(first, section)
    for text in texts.dropFirst() { alternatives.append(try CasterSettings(text, section)) }
    passwordFile = try section.name("passwordFile")
    if passwordFile != nil, inOrder.allSatisfy({ $0.username == nil }) {
      throw section.wrong("passwordFile", expected: "left out, or 'caster' with a user: ntrip://user@…")
    }
    caFile = try section.name("caFile")
    if caFile != nil, inOrder.allSatisfy({ !$0.isEncrypted }) {
      throw section.wrong("caFile", expected: "left out, or 'caster' ntrips://…: only TLS has certificates")
    }
    version = try section.integer("version", in: 1...2) ?? version
    positionInterval = try section.seconds("gga", orUsual: CasterSettings.usualPositionSeconds, in: 1...3600)
    for index in alternatives.indices {
      (alternatives[index].version, alternatives[index].positionInterval) = (version, positionInterval)
      alternatives[index].caFile = caFile
    }
    try section.finish()
  }

  /// - Parameter text: the address of one caster
  private init(_ text: String, _ section: BoardSection) throws(BoardError) {
    if text.hasPrefix("https://") || text.hasPrefix("http://") {
      throw section.wrong("caster", expected: "ntrip://… or, for a caster with TLS, ntrips://…")
    }
    let isEncrypted = text.hasPrefix("ntrips://")
    guard isEncrypted || text.hasPrefix("ntrip://"), let scheme = text.firstRange(of: "://") else {
      throw section.wrong("caster", expected: CasterSettings.expected)
    }
    var place = text[scheme.upperBound...]
    var username: String?
    // A user's name may be an e-mail address, so the last `@` separates it from the host.
    if let end = place.prefix(while: { $0 != "/" }).lastIndex(of: "@") {
      username = String(place[..<end])
      place = place[place.index(after: end)...]
    }
    guard let slash = place.firstIndex(of: "/"), let host = HostPort(place[..<slash]),
      case let mountPoint = place[place.index(after: slash)...], CasterSettings.isVisible(mountPoint)
    else { throw section.wrong("caster", expected: CasterSettings.expected) }
    if let username, !CasterSettings.isVisible(username) || username.contains(":") {
      throw section.wrong(
        "caster", expected: "without a password, which other users could read here: set 'passwordFile' to its file")
    }
    let usualPort = isEncrypted ? CasterSettings.usualPortOfTLS : CasterSettings.usualPort
    self.init(host: host.host, port: host.port ?? usualPort, mountPoint: String(mountPoint))
    self.isEncrypted = isEncrypted
    self.username = username
  }

  /// Whether a text can stand in a request without escapes: 1 to 128 visible ASCII characters.
  private static func isVisible(_ text: some StringProtocol) -> Bool {
    (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}
