import HardwareIO
import NMEA
import UBX

/// The protocol of the commands to a receiver.
public enum ReceiverDriver: String, CaseIterable, Sendable {
  /// No commands. The receiver keeps its own configuration.
  case nmea
  /// Any protocol in which the receiver answers; the hub tries all of them.
  case auto
  case ublox
  case mediatek
  case airoha
  case quectel
  case casic
  case unicore

  /// Whether commands are sent to the receiver.
  public var takesCommands: Bool { self != .nmea }

  /// Whether receivers with this protocol accept earlier satellite data, or the time and the position, for a faster
  /// start.
  public var isHelped: Bool {
    switch self {
    case .auto, .ublox, .mediatek, .casic: true
    case .nmea, .airoha: false
    case .quectel: false
    case .unicore: false
    }
  }

  /// The sleep modes of receivers with this protocol while their supply stays on.
  ///
  /// - Parameter isSwitched: whether the hub can switch their supply; some modes end only when the supply is switched
  ///   off and on
  public func sleeps(isSwitched: Bool) -> [ReceiverSleep] {
    switch self {
    case .nmea: []
    case .quectel: []
    case .auto: [.backup, .standby, .stop]
    case .ublox: [.backup, .stop]
    case .mediatek, .airoha: isSwitched ? [.standby, .backup] : [.standby]
    case .casic: isSwitched ? [.standby] : []
    // The receivers have no command for a sleep mode.
    case .unicore: []
    }
  }

  /// The settings that receivers with this protocol lack.
  public var lackingKeys: Set<ReceiverSettings.Key> {
    switch self {
    case .nmea: Set(ReceiverSettings.Key.allCases)
    case .auto, .ublox: []
    case .mediatek: [.dynamicModel, .messages, .saves, .restores]
    case .airoha, .casic: [.powerMode, .messages, .restores]
    case .quectel: [.powerMode, .restores]
    case .unicore: [.powerMode, .restores]
    }
  }

  /// Asks for the identity. Returns `nil` if no receiver answers in this protocol.
  func identify(_ channel: CommandChannel, tries: Int = 2) throws(HardwareError) -> (any CommandedReceiver)? {
    switch self {
    case .nmea: nil
    case .auto: try ReceiverDriver.identifyAny(channel)
    case .ublox: try UbloxReceiver.identify(channel, tries: tries)
    case .mediatek: try MediaTekReceiver.identify(channel, tries: tries)
    case .airoha: try AirohaReceiver.identify(channel, tries: tries)
    case .quectel: try QuectelReceiver.identify(channel, tries: tries)
    case .casic: try CASICReceiver.identify(channel, tries: tries)
    case .unicore: try UnicoreReceiver.identify(channel, tries: tries)
    }
  }

  /// The bytes to send to receivers with this protocol that may be in a sleep mode. They wake the receivers from each
  /// mode that bytes can end. Empty if there is no such mode.
  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8] {
    switch self {
    case .nmea, .casic: []
    case .quectel: []
    case .unicore: []
    case .auto, .ublox: sleep == .stop ? UBXMessage.reset(.start).bytes : UBXMessage.wakingBytes
    case .mediatek: sleep == .standby ? MediaTekReceiver.wakingBytes : []
    case .airoha: sleep == .standby ? AirohaReceiver.wakingBytes : []
    }
  }

  // MARK: Identification

  /// Listens for 1.2 s, longer than an epoch at 1 Hz. Then asks for the identity, first in the protocol that was
  /// heard, and then in the other protocols, the common ones first. Among these, protocols with sentences come before
  /// the protocol with messages, because receivers ignore unknown sentences.
  private static func identifyAny(_ channel: CommandChannel) throws(HardwareError) -> (any CommandedReceiver)? {
    let heard = try channel.protocolHeard(within: .milliseconds(1200))
    // Modules that answer in Airoha's protocol answer some commands of Quectel's as well, so Airoha comes first.
    // Each protocol takes 1.5 s, and most receivers are from u-blox, so the rare protocols come last.
    let others: [ReceiverDriver] = [.casic, .airoha, .mediatek, .ublox, .quectel, .unicore]
    for driver in [heard].compactMap({ $0 }) + others.filter({ $0 != heard }) {
      if let receiver = try driver.identify(channel, tries: driver == heard ? 2 : 1) { return receiver }
      if channel.isStopped { return nil }
    }
    return nil
  }

  /// The protocol that a sentence or message belongs to; `nil` if any receiver may send it.
  static func speaker(of frame: ReceiverFramer.Frame) -> ReceiverDriver? {
    switch frame {
    case .message(let message):
      switch message.format {
      case .ubx: return .ublox
      case .casic: return .casic
      case .rtcm3: return nil
      }
    case .sentence(let raw):
      let text = String(decoding: raw.bytes, as: UTF8.self)
      if text.hasPrefix("$PUBX") || text.contains("u-blox") { return .ublox }
      if text.hasPrefix("$PAIR") { return .airoha }
      // Quectel's modules with Airoha's chip send PQTM sentences as well.
      if text.hasPrefix("$PQTMVER"), text.split(separator: ",").contains(where: { QuectelReceiver.isOf($0) }) {
        return .quectel
      }
      if text.hasPrefix("$PMTK") { return .mediatek }
      if text.hasPrefix("#") || text.hasPrefix("$command,") || text.hasPrefix("$devicename,") { return .unicore }
      if text.contains("TXT,01,01,02,") && [",SW=", ",HW=", ",IC=", ",MO="].contains(where: text.contains) {
        return .casic
      }
      return nil
    }
  }
}

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
