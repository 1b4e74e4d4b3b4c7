import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// A reload of the board file while a device that it changes does not stop.
@Suite(.timeLimit(.minutes(10)))
struct StubbornDevicesTests {
  /// The magnetometer's address.
  private static let address: UInt8 = 0x1C
  private let hardware = HangingHardware()
  /// The supervisor's clock. It never advances, so no time limit ends.
  private let patience = ManualClock()

  private static func power(_ line: String) -> String {
    "power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }"
  }

  private func board(_ name: String, magnetometerHz: Int, also others: String = "") throws -> Board {
    let text = """
      { name: '\(name)', devices: {
        gps: { driver: 'nmea', port: 'simulated/gps', speed: 9600, \(Self.power("gps-power")) },
        imu: { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: 100, \(Self.power("imu-power")) },
        mag: { driver: 'lis3mdl', bus: 'simulated/i2c', rateHz: \(magnetometerHz), \(Self.power("mag-power")) }\(others) },
        fusion: { devices: ['gps', 'imu'] } }
      """
    return try Board(json5: Array(text.utf8), file: name)
  }

  private func host() throws -> HubHost {
    let machine = Machine(hardware: hardware, supervisor: Supervisor(clock: patience))
    return HubHost(Hub(board: try board("0", magnetometerHz: 20), on: machine), version: "test")
  }

  private func status(_ id: String, _ host: HubHost) -> DeviceStatus? { host.hub.devices.first { $0.id == id } }

  /// Blocks until a device of the present board measures.
  private func waitUntilTracking(_ id: String, _ host: HubHost) throws {
    let monitor = try #require(host.hub.monitors.first { $0.id == id })
    try #require(monitor.changes.waits { $0.power == .tracking })
  }

  /// Waits until the magnetometer is being read, then makes it hang.
  private func hang(_ host: HubHost) throws -> Subscription {
    let lease = host.hub.powerLease(of: "mag").subscribe(as: "compass", receiveValue: { _ in })
    try waitUntilTracking("mag", host)
    hardware.setHangs(true, at: Self.address)
    try #require(hardware.hangCounts.waits { $0 == 1 })
    return lease
  }

  @Test func `an unchanged device keeps working through a hundred reloads next to a device that never stops`()
    async throws
  {
    let host = try host()
    let (attitudes, epochs, views) = (Recorder<FusedState>(), Recorder<GNSSObservation>(), Recorder<FusedState>())
    let lifetime = Lifetime()
    host.hub.state(rateHz: 50, parts: [.attitude]).subscribe(
      as: "robot", receiveValue: { if $0.attitude != nil { attitudes.append($0) } }
    ).store(in: lifetime)
    host.hub.epochs.subscribe(as: "gpsd", receiveValue: { epochs.append($0) }).store(in: lifetime)
    host.hub.state(rateHz: 1, parts: [.position]).subscribe(as: "mqtt", receiveValue: { views.append($0) })
      .store(in: lifetime)
    await attitudes.first(1)
    await epochs.first(1)
    try waitUntilTracking("gps", host)
    try hang(host).store(in: lifetime)
    try await withThrowingDiscardingTaskGroup { group in
      for number in 1...100 {
        let before = host.hub.registry.value
        let new = try board("\(number)", magnetometerHz: 20 - number % 2)
        let (attitude, epoch, view) = (attitudes.values.count, epochs.values.count, views.values.count)
        group.addTask { _ = await host.serve(new) }
        try #require(host.hub.registry.waits { $0 !== before }, "it waits for the device that hangs")
        #expect(attitudes.waits { $0.count > attitude })
        if number % 20 == 0 { #expect(epochs.waits { $0.count > epoch } && views.waits { $0.count > view }) }
        for (id, holders) in [("gps", ["gpsd", "mqtt (position)"]), ("imu", ["robot (attitude)"])] {
          let kept = try #require(status(id, host))
          #expect(kept.wakes == 1 && kept.power == .tracking, "\(kept)")
          #expect(kept.holders == holders, "\(kept.holders)")
        }
      }
      // Only the first one hangs, because the others wait for its end.
      #expect(hardware.hangCount == 1)
      hardware.setHangs(false, at: Self.address)
    }
    try waitUntilTracking("mag", host)
    #expect(hardware.simulated.powerLines.level(SimulatedHardware.gpsPowerLine))
    lifetime.end()
    host.shutDown()
    await host.hub.isOff()
    #expect(!hardware.simulated.powerLines.level(SimulatedHardware.gpsPowerLine))
    #expect(!hardware.simulated.powerLines.level(SimulatedHardware.imuPowerLine))
  }

  @Test func `a new device waits for an old one with the same hardware, and other new devices do not`() async throws {
    let host = try host()
    let lease = try hang(host)
    let new = try board(
      "new", magnetometerHz: 10, also: ", air: { driver: 'bme280', bus: 'simulated/i2c', \(Self.power("baro-power")) }")
    async let problems = host.serve(new)
    #expect(host.hub.registry.waits { $0.board.name == "new" })
    let other = host.hub.powerLease(of: "air").subscribe(as: "weather", receiveValue: { _ in })
    try waitUntilTracking("air", host)
    #expect(host.hub.leavingMonitors.map(\.id) == ["mag"])
    #expect(status("mag", host)?.power != .tracking && hardware.hangCount == 1)
    hardware.setHangs(false, at: Self.address)
    try waitUntilTracking("mag", host)
    #expect(host.hub.leavingMonitors.isEmpty)
    #expect(await problems == [])
    other.cancel()
    lease.cancel()
    host.shutDown()
    await host.hub.isOff()
  }
}

/// Simulated hardware with chips that hang when a test tells them to.
private final class HangingHardware: Hardware {
  private struct State {
    /// The addresses at which transactions begin to hang.
    var addresses: Set<UInt8> = []
    /// The addresses at which hanging transactions continue to hang.
    var held: Set<UInt8> = []
    var hangCount = 0
  }

  let simulated: SimulatedHardware
  private let state = Guarded(State())
  private let hanging = MutableProperty(0)

  init() {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .milliseconds(50)
    receiver.rateHz = 20
    simulated = SimulatedHardware(receiver: receiver)
  }

  /// The number of hanging transactions.
  var hangCounts: Property<Int> { hanging.readOnly }
  var hangCount: Int { hanging.value }

  private func changeHangCount(by difference: Int) {
    let mustDeliver = state.withLock { state in
      state.hangCount += difference
      return hanging.stage(state.hangCount)
    }
    if mustDeliver { hanging.deliver() }
  }

  /// - Parameter frees: whether hanging transactions continue
  func setHangs(_ hangs: Bool, at address: UInt8, frees: Bool = true) {
    state.withLock { state in
      if hangs {
        state.addresses.insert(address)
        state.held.insert(address)
      } else {
        state.addresses.remove(address)
        if frees { state.held.remove(address) }
      }
    }
  }

  fileprivate func hold(at address: UInt8) {
    guard state.withLock({ $0.addresses.contains(address) }) else { return }
    changeHangCount(by: 1)
    TestSupport.hold(until: { state.withLock { !$0.held.contains(address) } })
    changeHangCount(by: -1)
  }

  func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
    Bus(bus: try simulated.i2cBus(name), hardware: self)
  }

  func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
    try simulated.serialPort(name, speed: speed)
  }

  func checkSerialPort(_ name: String) throws(HardwareError) { try simulated.checkSerialPort(name) }

  func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    try simulated.gpioOutput(name, activeLow: activeLow)
  }

  func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    try simulated.gpioEdges(name, falling: falling)
  }

  private struct Bus: I2CBus {
    let bus: any I2CBus
    let hardware: HangingHardware

    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }
    func claim(_ address: UInt8) throws(HardwareError) { try bus.claim(address) }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      hardware.hold(at: address)
      try bus.transaction(address, operations)
    }
  }
}
