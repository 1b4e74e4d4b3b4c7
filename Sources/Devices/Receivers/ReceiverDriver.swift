import HardwareIO
import NMEA
import UBX

/// In which language a receiver is spoken to.
public enum ReceiverDriver: String, CaseIterable, Sendable {
  /// In none: it is read as it was set up.
  case nmea
  /// In whichever it answers.
  case auto
  case ublox
  case mediatek
  case airoha
  case casic

  /// Whether anything is said to the receiver.
  public var speaks: Bool { self != .nmea }

  /// Whether its receivers accept earlier knowledge, or time and position.
  public var isHelped: Bool {
    switch self {
    case .auto, .ublox, .mediatek, .casic: true
    case .nmea, .airoha: false
    }
  }

  /// How its receivers can rest while their supply stays on.
  ///
  /// - Parameter isSwitched: whether their supply can be switched: not all come back without that
  public func sleeps(isSwitched: Bool) -> [ReceiverSleep] {
    switch self {
    case .nmea: []
    case .auto: [.backup, .standby, .stop]
    case .ublox: [.backup, .stop]
    case .mediatek, .airoha: isSwitched ? [.standby, .backup] : [.standby]
    case .casic: isSwitched ? [.standby] : []
    }
  }

  /// The settings that its receivers do not have.
  public var lackingKeys: Set<ReceiverSettings.Key> {
    switch self {
    case .nmea: Set(ReceiverSettings.Key.allCases)
    case .auto, .ublox: []
    case .mediatek: [.dynamicModel, .messages, .saves, .restores]
    case .airoha, .casic: [.powerMode, .messages, .restores]
    }
  }

  /// Asks for the identity; `nil` if nothing answers in its language.
  func identify(_ dialogue: ReceiverDialogue, tries: Int = 2) throws(HardwareError) -> (any CommandedReceiver)? {
    switch self {
    case .nmea: nil
    case .auto: try ReceiverDriver.identifyAny(dialogue)
    case .ublox: try UbloxReceiver.identify(dialogue, tries: tries)
    case .mediatek: try MediaTekReceiver.identify(dialogue, tries: tries)
    case .airoha: try AirohaReceiver.identify(dialogue, tries: tries)
    case .casic: try CASICReceiver.identify(dialogue, tries: tries)
    }
  }

  /// What wakes its receivers, whichever it is; empty where nothing that is said does.
  func wakingBytes(from sleep: ReceiverSleep) -> [UInt8] {
    switch self {
    case .nmea, .casic: []
    case .auto, .ublox: sleep == .stop ? UBXMessage.reset(.start).bytes : UBXMessage.wakingBytes
    case .mediatek: MediaTekReceiver.wakingBytes
    case .airoha: AirohaReceiver.wakingBytes
    }
  }

  // MARK: Which it is

  /// Listens for an epoch or so, and asks first in the language that was heard; then in the others, sentences before messages, as
  /// receivers pass over sentences that they do not know.
  private static func identifyAny(_ dialogue: ReceiverDialogue) throws(HardwareError) -> (any CommandedReceiver)? {
    let heard = try dialogue.languageHeard(within: .milliseconds(1200))
    let others: [ReceiverDriver] = [.casic, .airoha, .mediatek, .ublox]
    for driver in [heard].compactMap({ $0 }) + others.filter({ $0 != heard }) {
      if let receiver = try driver.identify(dialogue, tries: driver == heard ? 2 : 1) { return receiver }
      if dialogue.isStopped { return nil }
    }
    return nil
  }

  /// The driver to which a sentence or message belongs; `nil` for those of any receiver.
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
      if text.hasPrefix("$PAIR") || text.hasPrefix("$PQTM") { return .airoha }
      if text.hasPrefix("$PMTK") { return .mediatek }
      if text.contains("TXT,01,01,02,") && [",SW=", ",HW=", ",IC=", ",MO="].contains(where: text.contains) {
        return .casic
      }
      return nil
    }
  }
}
