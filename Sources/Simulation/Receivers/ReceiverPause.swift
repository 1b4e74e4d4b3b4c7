import Devices
import MonotonicTime
import NMEA

/// A pause of a tracking receiver: the sleep mode during the pause, and the energy until the receiver has its position
/// again. The currents and times are from the receiver's data sheet.
public struct ReceiverPause: Sendable {
  public var personality: ReceiverPersonality
  /// The sleep mode; `nil` if the receiver keeps tracking.
  public var sleep: ReceiverSleep?
  /// Whether the receiver's memory has a supply while the main supply is off.
  public var hasBackupSupply: Bool

  public init(_ personality: ReceiverPersonality, _ sleep: ReceiverSleep?, hasBackupSupply: Bool = true) {
    self.personality = personality
    self.sleep = sleep
    self.hasBackupSupply = hasBackupSupply
  }

  private static let volts = 3.3
  private static let step = Duration.milliseconds(100)
  private static let longestSearch = Duration.seconds(600)

  /// The energy of a pause, including the search at its end, in milliwatt-hours at 3.3 V. `nil` if the receiver does
  /// not support the sleep mode, or finds no position within `longestSearch`.
  public func milliwattHours(of pause: Duration) -> Double? {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = hasBackupSupply
    var now = MonotonicInstant(nanoseconds: 0)
    let body = ReceiverBody(
      personality.character, configuration, world: World(start: now), now: now,
      utcNanoseconds: 1_790_000_000_000_000_000)
    var machine = ReceiverMachine(body, personality.makeProtocol())
    func run(for time: Duration) {
      now = now + time
      machine.run(until: now)
      // No program reads the output.
      _ = machine.takePieces(speed: nil)
    }
    func runUntilFix() -> Bool {
      let end = now + ReceiverPause.longestSearch
      while machine.body.phase != .tracking, now < end { run(for: ReceiverPause.step) }
      return machine.body.phase == .tracking
    }
    func supply(_ isOn: Bool) { machine.setSupply(isOn, at: now) }
    func say(_ bytes: [UInt8]) { machine.hear(bytes, at: machine.body.speed, now: now) }
    supply(true)
    guard runUntilFix() else { return nil }
    let before = machine.body.charge.coulombs
    switch sleep {
    case nil: break
    case .off: supply(false)
    case .backup, .standby, .stop:
      guard let command = personality.command(for: sleep) else { return nil }
      say(command)
      if machine.body.phase == .tracking { return nil }
    }
    run(for: pause)
    if let sleep {
      if let call = personality.call(from: sleep) {
        say(call)
      } else {
        supply(false)
        supply(true)
      }
      guard runUntilFix() else { return nil }
    }
    return (machine.body.charge.coulombs - before) * ReceiverPause.volts / 3.6
  }
}

extension ReceiverPersonality {
  /// The driver whose protocol the receiver uses.
  public var driver: ReceiverDriver {
    switch self {
    case .ublox6, .ublox7, .ublox8, .ublox9, .ublox10: .ublox
    case .mediatek: .mediatek
    case .airoha: .airoha
    case .quectel: .quectel
    case .casic: .casic
    case .unicore: .unicore
    }
  }

  /// The command for a sleep mode, from the maker's documents; `nil` if the receiver lacks that mode.
  fileprivate func command(for sleep: ReceiverSleep?) -> [UInt8]? {
    func sentence(_ text: String) -> [UInt8] { Array(SentenceWriter.make(text).utf8) }
    switch (self, sleep) {
    case (.ublox6, .stop), (.ublox7, .stop), (.ublox8, .stop), (.ublox9, .stop), (.ublox10, .stop):
      return BinaryMessage([0, 0, 8, 0]).ubx(0x06, 0x04)
    case (.ublox6, .backup), (.ublox7, .backup), (.ublox8, .backup):
      return BinaryMessage([0, 0, 0, 0, 2, 0, 0, 0]).ubx(0x02, 0x41)
    case (.ublox9, .backup), (.ublox10, .backup):
      return BinaryMessage([0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0]).ubx(0x02, 0x41)
    case (.mediatek, .standby): return sentence("PMTK161,0")
    case (.mediatek, .backup): return sentence("PMTK225,4")
    case (.airoha, .standby): return sentence("PAIR003")
    case (.airoha, .backup): return sentence("PAIR650,0")
    case (.casic, .standby): return sentence("PCAS12,65535")
    default: return nil
    }
  }

  /// The bytes that end a sleep mode; `nil` if only the supply ends it.
  fileprivate func call(from sleep: ReceiverSleep) -> [UInt8]? {
    switch (driver, sleep) {
    case (.ublox, .stop): BinaryMessage([0, 0, 9, 0]).ubx(0x06, 0x04)
    case (.ublox, .backup): [0xFF]
    case (.mediatek, .standby): [0x0D]
    case (.airoha, .standby): Array(SentenceWriter.make("PAIR002").utf8)
    default: nil
    }
  }
}
