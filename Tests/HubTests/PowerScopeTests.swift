import HardwareIO
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The power line ends low, whatever fails.
@Suite(.timeLimit(.minutes(10)))
struct PowerScopeTests {
  enum Breakage: CaseIterable { case line, bus, port }

  /// Hardware with one broken part; records the levels of the power lines.
  private final class BrokenHardware: Hardware {
    let levels = Recorder<String>()
    private let breakage: Breakage

    init(_ breakage: Breakage) { self.breakage = breakage }

    func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { throw .notFound("I2C bus \(name)") }

    func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
      throw .notFound("serial port \(name)")
    }

    func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
      Line(name: name.line, levels: levels, isBroken: breakage == .line)
    }

    func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
      throw .notFound("\(name)")
    }
  }

  private final class Line: GPIOOutput {
    private let name: String
    private let levels: Recorder<String>
    private let isBroken: Bool

    init(name: String, levels: Recorder<String>, isBroken: Bool) {
      self.name = name
      self.levels = levels
      self.isBroken = isBroken
    }

    func set(_ level: Bool) throws(HardwareError) {
      levels.append("\(name) \(level)")
      if isBroken { throw .system("driving \(name)", errno: 5) }
    }

    func close() { levels.append("\(name) closed") }
  }

  @Test(arguments: Breakage.allCases)
  func `after any failure during power-on, the line is driven low and released`(_ breakage: Breakage) async throws {
    let device =
      breakage == .port
      ? #"devices: { gps: { driver: "nmea", port: "/dev/none", power: { switch: "gpio", chip: "c", line: "supply" } } }"#
      : #"devices: { imu: { driver: "mpu-6050", bus: "/dev/none", power: { switch: "gpio", chip: "c", line: "supply" } } }"#
    let hardware = BrokenHardware(breakage)
    let hub = Hub(board: try Board(json5: Array("{ name: 'x', \(device) }".utf8), file: "x"), hardware: hardware)
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = hub.state.subscribe(as: "test", receiveValue: { _ in })
    let failed = await statuses.first { $0.power == .failed }
    #expect(!failed.reason.isEmpty)
    subscription.cancel()
    await hub.isOff()
    #expect(hardware.levels.values.prefix(2) == ["supply true", "supply closed"])
    #expect(hardware.levels.values.last == "supply closed")
    watching.cancel()
  }

  @Test func `a missing port does not make the hub operate the switch every second`() async throws {
    let board =
      #"{ name: "x", devices: { gps: { driver: "nmea", port: "/dev/none", "#
      + #"power: { switch: "gpio", chip: "c", line: "supply", lingerSeconds: 0 } } } }"#
    let hardware = BrokenHardware(.port)
    let clock = ManualClock()
    let hub = Hub(board: try Board(json5: Array(board.utf8), file: "x"), hardware: hardware, clock: clock)
    let subscription = hub.state.subscribe(as: "test", receiveValue: { _ in })
    for _ in 0..<600 {
      // The next try follows once the previous one has failed.
      await clock.sleepers(1)
      clock.advance(by: .seconds(1))
    }
    subscription.cancel()
    await hub.isOff()
    let rises = hardware.levels.values.count { $0 == "supply true" }
    #expect((10...25).contains(rises), "\(rises) times in ten minutes")
    #expect(hardware.levels.values.last == "supply closed")
  }
}
