import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// Two receivers and two inertial sensors: the standby takes over when one of them fails.
///
/// On a busy machine a thread may read an epoch late. The epoch's position is then older than its timestamp, and the
/// estimate is wrong. The receivers, the sensors and the hub therefore run in slow motion, at a third of the speed, so
/// that delays have a third of their effect.
@Suite(.timeLimit(.minutes(10)))
struct StandbyTests {
  private let hardware: SimulatedHardware
  private let hub: Hub

  init() throws {
    let clock = SlowClock(timesSlower: 3)
    var receiver = SimulatedReceiver.Configuration()
    receiver.satelliteTime = clock.systemTime
    receiver.timeToFirstFix = .milliseconds(50)
    receiver.rateHz = 10
    var second = receiver
    second.timeToFirstFix = .seconds(2)
    hardware = SimulatedHardware(clock: clock, receiver: receiver, secondReceiver: second)
    func power(_ line: String) -> String {
      "power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }"
    }
    let text = """
      { name: 'test', motion: 'vehicle', devices: {
        gps: { driver: 'nmea', port: 'simulated/gps', speed: 9600, \(power("gps-power")) },
        roof: { driver: 'nmea', port: 'simulated/gps2', speed: 9600, \(power("gps2-power")) },
        imu: { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: 100, \(power("imu-power")) },
        spare: { driver: 'bmi160', bus: 'simulated/i2c', rateHz: 100, \(power("bmi160-power")) } } }
      """
    let machine = Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime)
    hub = Hub(board: try Board(json5: Array(text.utf8), file: "test"), on: machine)
  }

  /// The larger error of inclination and heading, in standard deviations; `nil` without a heading.
  private func surprise(_ state: FusedState) -> Double? {
    guard let attitude = state.attitude, let headingSigma = attitude.value.headingSigmaRadians else { return nil }
    let truth = hardware.world.truth(at: attitude.at).attitude
    let error = (attitude.value.quaternion * truth.conjugate).rotationVector
    let tilt = (error.x * error.x + error.y * error.y).squareRoot() / attitude.value.inclinationSigmaRadians
    return max(tilt, abs(error.z) / headingSigma)
  }

  @Test func `a standby IMU takes over from one that fails, and the attitude stays right`()
    async throws
  {
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 100).subscribe(as: "test", receiveValue: { states.append($0) })
    _ = await states.first { $0.mode == .fused }
    #expect(hub.devices.map(\.wakes) == [1, 1, 1, 0])
    hardware.imu.inject(.stuck(0))
    let replaced = await states.first { $0.rates.map { $0.source == DeviceSet(3) } ?? false }
    #expect(replaced.devices.text(try #require(replaced.rates).source) == "spare")
    let count = states.values.count
    _ = await states.values { $0.count > count + 100 && $0.last?.mode == .fused }
    hardware.imu.inject(nil)
    // Once the device has worked again for some seconds, the standby goes back to sleep.
    _ = await states.values { values in
      values.dropFirst(count + 100).contains { $0.rates.map { $0.source == DeviceSet(2) } ?? false }
    }
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.monitors[3].changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    _ = await statuses.first { $0.power == .off }
    #expect(hub.devices[3].wakes == 1)
    watching.cancel()
    subscription.cancel()
    await hub.isOff()
    // The comparison starts a second before the change, because on a slow machine there may have been a long drive
    // before. It leaves out the first second of each run of the filter, which is then still converging. On an
    // overloaded machine the filter may restart several times, and it reports that.
    let change = states.values.firstIndex { $0.rates.map { $0.source == DeviceSet(3) } ?? false } ?? 0
    var settled: [FusedState] = []
    var inARow = 0
    for (index, state) in states.values.enumerated() {
      inARow = state.mode == .fused ? inARow + 1 : 0
      if inARow > 100, index + 100 >= change { settled.append(state) }
    }
    let surprises = settled.compactMap(surprise)
    #expect(surprises.count > 100)
    #expect((surprises.max() ?? .infinity) < 3, "\(surprises.max() ?? 0)")
    #expect(hub.devices.allSatisfy { $0.power == .off })
  }

  private static func isNavigated(_ state: FusedState) -> Bool { state.mode == .fused || state.mode == .deadReckoning }

  @Test func `a second receiver takes over from one that fails, and the position stays right`() async throws {
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 50).subscribe(as: "test", receiveValue: { states.append($0) })
    let first = await states.first { $0.fix.map { $0.value.mode > 1 } ?? false }
    #expect(first.devices.text(try #require(first.fix).source) == "gps")
    // The filter is still converging in its first seconds, which are longer on an overloaded machine.
    _ = await states.values { $0.count(where: Self.isNavigated) > 100 }
    hardware.receiver.setMuted(true)
    let replaced = await states.first { $0.fix.map { $0.source == DeviceSet(1) } ?? false }
    #expect(replaced.devices.text(try #require(replaced.fix).source) == "roof")
    let count = states.values.count
    _ = await states.values { $0.dropFirst(count).count(where: Self.isNavigated) > 50 }
    subscription.cancel()
    await hub.isOff()
    for state in states.values.filter(Self.isNavigated).dropFirst(50) {
      guard let position = state.position, let sigma = position.value.horizontalSigmaMetres else { continue }
      let truth = hardware.world.truth(at: position.at)
      let north = (position.value.latitudeDegrees - truth.latitudeDegrees) * 111_320
      let east = (position.value.longitudeDegrees - truth.longitudeDegrees) * 67_760
      #expect((north * north + east * east).squareRoot() < 3 * sigma * 2.0.squareRoot())
    }
  }
}
