/// A kind of receiver. It appears as the port `simulated/NAME` and is powered by the line `NAME-power`.
public enum ReceiverPersonality: String, CaseIterable, Sendable {
  case ublox6 = "ublox-6"
  case ublox7 = "ublox-7"
  case ublox8 = "ublox-8"
  case ublox9 = "ublox-9"
  case ublox10 = "ublox-10"
  case mediatek
  case airoha
  case quectel
  case casic
  case unicore

  /// The name of the port in board files.
  public var port: String { "simulated/\(rawValue)" }
  public var powerLine: String { "\(rawValue)-power" }

  /// The factory speed of the UART, in bits per second.
  public var factorySpeed: Int { character.speed }

  /// The current from the data sheet in amperes. While the receiver is off, this is the current into the backup pin.
  public func amperes(_ phase: ReceiverPhase) -> Double {
    let currents = character.currents
    return switch phase {
    case .off: currents.memory
    case .backup: currents.backup
    case .booting, .searching: currents.searching
    case .tracking: currents.tracking
    case .stopped: currents.stopped
    case .standby: currents.standby
    }
  }

  var character: ReceiverCharacter {
    switch self {
    case .ublox6: .neo6M
    case .ublox7: .neo7M
    case .ublox8: .neoM8N
    case .ublox9: .neoM9N
    case .ublox10: .maxM10S
    case .mediatek: .l86
    case .airoha: .lc86G
    case .quectel: .lg290P
    case .casic: .atgm336H
    case .unicore: .um982
    }
  }

  func makeProtocol() -> any ReceiverProtocol {
    switch self {
    case .ublox6: UBXProtocol(.six, character)
    case .ublox7: UBXProtocol(.seven, character)
    case .ublox8: UBXProtocol(.eight, character)
    case .ublox9: UBXProtocol(.nine, character)
    case .ublox10: UBXProtocol(.ten, character)
    case .mediatek: MediaTekProtocol(character)
    case .airoha: AirohaProtocol(character)
    case .quectel: QuectelProtocol(character)
    case .casic: CASICProtocol(character)
    case .unicore: UnicoreProtocol(character)
    }
  }
}
