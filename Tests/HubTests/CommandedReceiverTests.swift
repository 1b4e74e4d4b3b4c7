import Devices
import HardwareIO
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

/// The drivers with simulated receivers. Both were written from the makers' protocol documents alone.
@Suite(.timeLimit(.minutes(10)))
struct CommandedReceiverTests {
  private struct Case: CustomTestStringConvertible, Sendable {
    var driver: String
    var personality: ReceiverPersonality
    var settings: String
    var sleep: String?

    var testDescription: String { "\(driver) and \(personality.rawValue), \(sleep ?? "off")" }
  }

  private static let cases = [
    Case(driver: "ublox", personality: .ublox6, settings: #"messages: "ubx","#, sleep: "backup"),
    Case(driver: "ublox", personality: .ublox7, settings: #"messages: "ubx", rateHz: 2,"#, sleep: "stop"),
    Case(
      driver: "ublox", personality: .ublox8,
      settings: #"messages: "ubx", rateHz: 5, dynamicModel: "automotive", setSpeed: 38400,"#, sleep: "backup"),
    Case(
      driver: "ublox", personality: .ublox9, settings: #"constellations: ["gps", "galileo"], rateHz: 5,"#, sleep: "stop"
    ),
    Case(
      driver: "ublox", personality: .ublox10, settings: #"messages: "ubx", powerMode: "saving", rateHz: 2,"#,
      sleep: "backup"),
    Case(
      driver: "mediatek", personality: .mediatek, settings: #"constellations: ["gps", "glonass"],"#, sleep: "standby"),
    Case(driver: "airoha", personality: .airoha, settings: "rateHz: 5,", sleep: "standby"),
    Case(
      driver: "quectel", personality: .quectel,
      settings: #"rateHz: 5, constellations: ["gps", "galileo"], messages: "nmea", saves: true,"#, sleep: nil),
    Case(
      driver: "auto", personality: .quectel, settings: #"speed: 460800, messages: "nmea", setSpeed: 38400,"#,
      sleep: nil),
    Case(driver: "casic", personality: .casic, settings: "rateHz: 2,", sleep: nil),
    Case(
      driver: "casic", personality: .casic, settings: #"rateHz: 2, setSpeed: 38400,"#, sleep: "standby"),
    Case(driver: "unicore", personality: .unicore, settings: #"messages: "nmea", rateHz: 5,"#, sleep: nil),
    Case(driver: "unicore", personality: .unicore, settings: #"rateHz: 1, setSpeed: 38400,"#, sleep: nil),
    Case(driver: "auto", personality: .unicore, settings: "rateHz: 2,", sleep: nil),
    Case(driver: "auto", personality: .ublox9, settings: "rateHz: 2,", sleep: nil),
  ]

  @Test(arguments: cases)
  private func `a receiver is configured, sleeps and wakes without a warning, and its line ends low`(
    _ its: Case
  ) async throws {
    let line = its.personality.powerLine
    let sleep = its.sleep.map { #", sleep: "\#($0)""# } ?? ""
    let board = try Board(
      json5: Array(
        """
        { name: "test", devices: { gps: { driver: "\(its.driver)", port: "\(its.personality.port)", \(its.settings)
          power: { switch: "gpio", chip: "simulated", line: "\(line)", lingerSeconds: 0\(sleep) } } } }
        """.utf8), file: "test")
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(its.personality, configuration: configuration)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    func gps() -> DeviceStatus { hub.devices[0] }
    let epochs = hub.epochs(of: "gps")

    for visit in 1...2 {
      let fixes = Recorder<GNSSObservation>()
      let subscription = epochs.subscribe(
        as: "test", receiveValue: { if $0.fix.mode >= .twoDimensional { fixes.append($0) } })
      // The receiver may have a fix before it is configured.
      let speed = its.settings.contains("38400") ? 38400 : its.personality.factorySpeed
      // This polls, because the client must not leave with the first value. If it left in the middle of the first
      // epoch, the receiver's last sentences would arrive after the command to sleep, on a busy machine later than the
      // hub allows.
      #expect(
        eventually { !fixes.values.isEmpty && receiver.speed == speed && gps().power == .tracking },
        "visit \(visit): \(gps()) at \(receiver.speed)")
      #expect(gps().warning == nil, "visit \(visit): \(gps().warning ?? "")")
      subscription.cancel()
      #expect(hub.monitors[0].changes.waits { $0.power == (its.sleep == nil ? .off : .asleep) }, "visit \(visit)")
      #expect(hardware.powerLines.level(line) == (its.sleep != nil))
      // The kernel passes the last command on to the simulated receiver. No event shows that it has arrived.
      #expect(
        eventually { receiver.amperes < its.personality.amperes(.tracking) / 2 },
        "\(receiver.phase), \(receiver.amperes) A")
      #expect(gps().warning == nil)
    }
    #expect(receiver.starts.count > 1 && receiver.starts.last?.kind == .hot, "\(receiver.starts)")
    hub.shutDown()
    await hub.isOff()
    #expect(!hardware.powerLines.level(line))
  }
}
