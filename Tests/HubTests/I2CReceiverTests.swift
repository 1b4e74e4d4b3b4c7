import Devices
import HardwareIO
import Hub
import Publishing
import Simulation
import TestSupport
import Testing

/// A u-blox receiver on an I2C bus.
@Suite(.timeLimit(.minutes(10)))
struct I2CReceiverTests {
  private static func board(_ section: String) throws -> Board {
    try Board(json5: Array("{ name: 'x', devices: { gps: { \(section) } } }".utf8), file: "board")
  }

  @Test(arguments: ["ublox", "auto"])
  func `a receiver is found, configured and read on its bus, through errors, and its supply ends off`(
    _ driver: String
  ) async throws {
    let line = SimulatedHardware.i2cReceiver.powerLine
    let board = try Self.board(
      """
      driver: '\(driver)', bus: 'simulated/i2c', messages: 'ubx', rateHz: 5,
      power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }
      """)
    let clock = SteppedClock()
    let hardware = SimulatedHardware(clock: clock)
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.05
    configuration.isOnI2C = true
    configuration.startUTCNanoseconds = clock.systemTime()
    let receiver = hardware.receiver(SimulatedHardware.i2cReceiver, configuration: configuration)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    func gps() -> DeviceStatus { hub.devices[0] }
    func count(_ name: String) -> Int { gps().counters.first { $0.name == name }?.value ?? 0 }
    let subscription = hub.epochs(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(
      eventually { gps().power == .tracking && receiver.interval == .milliseconds(200) && count("messages") > 20 },
      "\(gps()) \(receiver.commands)")
    #expect(gps().warning == nil, "\(gps().warning ?? "")")
    // The receiver restarts its interface, or another device disturbs the bus.
    hardware.inject(.noAcknowledge, at: I2CPortName.usualAddress)
    #expect(eventually { count("busErrors") > 2 }, "\(gps())")
    hardware.inject(nil, at: I2CPortName.usualAddress)
    let messages = count("messages")
    #expect(eventually { count("messages") > messages + 20 }, "\(gps())")
    subscription.cancel()
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(!hardware.powerLines.level(line))
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `the board file has the keys of a chip, and the usual address`() throws {
    let usual = try #require(try Self.board("driver: 'ublox', bus: 'i2c-1'").devices.first)
    #expect(usual.place == I2CAddress(bus: "/dev/i2c-1", address: 0x42) && usual.path == "/dev/i2c-1")
    let other = try Self.board("driver: 'nmea', bus: '/dev/i2c-3', address: 0x10").receiver
    #expect(other?.port == "/dev/i2c-3@0x10")
  }

  @Test(arguments: [
    ("driver: 'ublox', bus: 'i2c-1', port: '/dev/ttyS0'", "'devices.gps.bus' must be left out, or 'port'"),
    ("driver: 'ublox', bus: 'i2c-1', speed: 9600", "'devices.gps.speed' must be left out"),
    ("driver: 'ublox', bus: 'i2c-1', address: 0x99", "'devices.gps.address' must be"),
    ("driver: 'mediatek', bus: 'i2c-1'", "'devices.gps.driver' must be 'ublox'"),
    ("driver: 'ublox', bus: 'i2c-1', power: { sleep: 'backup' }", "a bus does not wake a receiver"),
  ])
  func `settings that a receiver on a bus cannot have are mistakes`(_ section: String, _ words: String) throws {
    let error = try #require(throws: BoardError.self) { try Self.board(section) }
    #expect("\(error)".contains(words), "\(error)")
  }
}
