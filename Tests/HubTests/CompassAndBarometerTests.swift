import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// A magnetometer and a barometer together with the receiver and the IMU, on a vehicle that stands still.
@Suite(.timeLimit(.minutes(10)))
struct CompassAndBarometerTests {
  private let hardware: SimulatedHardware
  private let hub: Hub

  /// The strength of the simulated field in microtesla.
  private static let strength = 49.6

  init() throws {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .milliseconds(50)
    receiver.rateHz = 20
    var world = World(start: MonotonicClock().now)
    world.drivingSeconds = 0
    hardware = SimulatedHardware(receiver: receiver, world: world)
    hub = Hub(board: try CompassAndBarometerTests.board(isCalibrated: true), hardware: hardware)
  }

  private static func board(isCalibrated: Bool) throws -> Board {
    func power(_ line: String) -> String {
      "power: { switch: \"gpio\", chip: \"simulated\", line: \"\(line)\", lingerSeconds: 0 }"
    }
    let text = """
      { name: "test", motion: "vehicle",
        devices: {
          gps: { driver: "nmea", port: "simulated/gps", speed: 9600, \(power("gps-power")) },
          imu: { driver: "mpu-6050", bus: "simulated/i2c", \(power("imu-power")) },
          mag: { driver: "lis3mdl", bus: "simulated/i2c", \(power("mag-power")) },
          baro: { driver: "bme280", bus: "simulated/i2c", \(power("baro-power")) } } }
      """
    var board = try Board(json5: Array(text.utf8), file: "test")
    guard isCalibrated else { return board }
    var calibration = ChipCalibration()
    calibration.values.magnetometerStrength = strength
    board.devices[2] = board.devices[2].calibrated(calibration)
    return board
  }

  private func states(of hub: Hub, _ parts: Set<StatePart>) -> (Recorder<FusedState>, Subscription) {
    let states = Recorder<FusedState>()
    return (states, hub.state(rateHz: 100, parts: parts).subscribe(as: "test", receiveValue: { states.append($0) }))
  }

  /// Returns the error of a heading in degrees; `nil` without a heading.
  private func headingError(_ state: FusedState) -> Double? {
    guard let attitude = state.attitude, attitude.value.headingSigmaRadians != nil else { return nil }
    let error = attitude.value.quaternion.yaw - hardware.world.truth(at: attitude.at).attitude.yaw
    return abs(error - (error / (2 * .pi)).rounded() * 2 * .pi) * 180 / .pi
  }

  @Test func `at rest a calibrated magnetometer gives the true heading within its stated error`() async throws {
    let (recorder, subscription) = states(of: hub, .all)
    let fused = await recorder.first { state in
      state.mode == .fused && state.attitude?.value.headingSigmaRadians.map { $0 < 0.06 } ?? false
    }
    let last = try #require(await recorder.values { $0.count > 300 }.last)
    subscription.cancel()
    for state in [fused, last] {
      let sigma = try #require(state.attitude?.value.headingSigmaRadians) * 180 / .pi
      let error = try #require(headingError(state))
      #expect(error < 3 && error < sigma, "\(error) of \(sigma)")
      #expect(state.attitude.map { state.devices.text($0.source) } == "gps+imu+mag")
    }
    await hub.isOff()
    // A client that requests only a heading gets it without the receiver, because the first run has shown the direction
    // of magnetic north.
    let (alone, heading) = states(of: hub, [.heading])
    let found = await alone.first { $0.attitude?.value.headingSigmaRadians.map { $0 < 0.06 } ?? false }
    heading.cancel()
    #expect(try #require(headingError(found)) < 3)
    #expect(found.position == nil)
    await hub.isOff()
    #expect(hub.devices.map(\.wakes) == [1, 2, 2, 1])
  }

  @Test func `an uncalibrated magnetometer gives a rough heading with a large stated error`() async throws {
    let hub = Hub(board: try CompassAndBarometerTests.board(isCalibrated: false), hardware: hardware)
    let (recorder, subscription) = states(of: hub, [.heading])
    let state = await recorder.first { $0.attitude?.value.headingSigmaRadians != nil }
    subscription.cancel()
    let sigma = try #require(state.attitude?.value.headingSigmaRadians) * 180 / .pi
    // Neither the local iron nor the magnetic declination is known.
    #expect(sigma > 15)
    #expect(try #require(headingError(state)) < sigma)
    await hub.isOff()
    #expect(hub.devices.map(\.wakes) == [0, 1, 1, 0])
  }

  @Test func `a request for pressure wakes only the barometer, a request for altitude also wakes the receiver`()
    async throws
  {
    let (pressures, pressure) = states(of: hub, [.pressure])
    let state = await pressures.first { $0.air != nil }
    let air = try #require(state.air)
    #expect(abs(air.value.pressurePascals - hardware.world.truth(at: air.at).pressurePascals) < 10)
    #expect(abs(air.value.temperatureCelsius - 18) < 1)
    #expect(abs(try #require(air.value.humidityPercent) - 45) < 1)
    #expect(state.devices.text(air.source) == "baro")
    #expect(hub.devices.map(\.wakes) == [0, 0, 0, 1])
    let (altitudes, altitude) = states(of: hub, [.altitude])
    let found = await altitudes.first { $0.position.map { $0.source.contains(DeviceSet(3)) } ?? false }
    #expect(hub.devices.map(\.wakes) == [1, 0, 0, 1])
    let position = try #require(found.position)
    #expect(found.devices.text(position.source) == "gps+baro")
    let error = abs(try #require(position.value.altitudeHAEMetres) - hardware.world.altitudeHAEMetres)
    #expect(error < 3 * (try #require(position.value.verticalSigmaMetres)))
    pressure.cancel()
    altitude.cancel()
    await hub.isOff()
    #expect(hub.devices.allSatisfy { $0.power == .off })
  }

  /// On a stuck bus, every transaction with the chip succeeds, and reads only zeros or only ones.
  @Test(arguments: [("mag", 0x1C, 0x00), ("mag", 0x1C, 0xFF), ("baro", 0x76, 0x00), ("baro", 0x76, 0xFF)])
  func `a sensor that stops measuring fails with a reason, and recovers by itself`(
    _ id: String, _ address: UInt8, _ level: UInt8
  ) async throws {
    let statuses = Recorder<DeviceStatus>()
    let monitor = try #require(hub.monitors.first { $0.id == id })
    let watching = monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = hub.powerLease(of: id).subscribe(as: "test", receiveValue: { _ in })
    _ = await statuses.first { $0.power == .tracking }
    hardware.inject(.stuck(level), at: address)
    let failed = await statuses.first { $0.power == .failed }
    #expect(failed.reason.contains("0x" + String(address, radix: 16)), "\(failed.reason)")
    hardware.inject(nil, at: address)
    _ = await statuses.values { $0.last?.power == .tracking }
    subscription.cancel()
    watching.cancel()
    await hub.isOff()
  }
}
