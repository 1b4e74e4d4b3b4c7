import Fusion
import HardwareIO
import Hub
import Publishing
import Simulation
import TestSupport
import Testing

/// The hub on simulated devices, through the real drivers, a real pseudo-terminal and real threads.
@Suite(.timeLimit(.minutes(10)))
struct HubTests {
  let hardware: SimulatedHardware
  let hub: Hub

  init() throws {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .milliseconds(50)
    receiver.rateHz = 20
    hardware = SimulatedHardware(receiver: receiver)
    hub = Hub(board: try HubTests.board(), hardware: hardware)
  }

  static func board() throws -> Board {
    let text = """
      { name: "test", motion: "vehicle",
        devices: { gps: { driver: "nmea", port: "simulated/gps", speed: 9600,
          power: { switch: "gpio", chip: "simulated", line: "gps-power", currentMilliamperes: 1000, lingerSeconds: 0 } },
          imu: { driver: "mpu-6050", bus: "simulated/i2c",
          power: { switch: "gpio", chip: "simulated", line: "imu-power", lingerSeconds: 0 } } } }
      """
    return try Board(json5: Array(text.utf8), file: "test")
  }

  private var gpsIsOn: Bool { hardware.powerLines.level(SimulatedHardware.gpsPowerLine) }
  private var imuIsOn: Bool { hardware.powerLines.level(SimulatedHardware.imuPowerLine) }

  private func subscribe(_ states: Recorder<FusedState>, as name: String = "test") -> Subscription {
    hub.state(rateHz: 100).subscribe(as: .client(name), receiveValue: { states.append($0) })
  }

  @Test func `no device is powered before a client subscribes or after the last one has left`() async {
    #expect(!gpsIsOn && !imuIsOn)
    #expect(hub.devices.allSatisfy { $0.power == .off && $0.wakes == 0 })
    let states = Recorder<FusedState>()
    let subscription = subscribe(states, as: "watch")
    let fused = await states.first { $0.mode == .fused }
    #expect(gpsIsOn && imuIsOn)
    #expect(hub.devices.map(\.holders) == [["watch"], ["watch"]])
    #expect(hub.devices.map(\.power) == [.tracking, .tracking])
    #expect(fused.position.map { fused.devices.text($0.source) } == "gps+imu")
    subscription.cancel()
    await hub.isOff()
    #expect(!gpsIsOn && !imuIsOn)
    #expect(hub.devices.allSatisfy { $0.power == .off && $0.wakes == 1 && $0.holders.isEmpty })
    #expect(hub.devices[0].energyMilliwattHours > 0)
    #expect(hub.devices[0].timeToFirstFix != nil)
  }

  @Test func `the calibration is subtracted from measurements`() async throws {
    var board = try HubTests.board()
    var calibration = ChipCalibration()
    calibration.values.gyroscopeBias = SIMD3(1, 0, 0)
    board.devices[1] = board.devices[1].calibrated(calibration)
    let hub = Hub(board: board, hardware: hardware)
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 100).subscribe(as: "test", receiveValue: { states.append($0) })
    let seen = await states.first { $0.rates != nil }
    subscription.cancel()
    await hub.isOff()
    let rates = try #require(seen.rates?.value)
    // The vehicle itself hardly rolls.
    #expect(abs(rates.x + 1) < 0.2)
  }

  @Test func `reading the devices' status wakes none of them`() {
    for _ in 0..<100 { _ = hub.devices }
    #expect(hub.devices.allSatisfy { $0.wakes == 0 })
  }

  @Test func `the fused position is the vehicle's`() async throws {
    let states = Recorder<FusedState>()
    let subscription = subscribe(states)
    @Sendable func isThere(_ state: FusedState) -> Bool {
      guard state.mode == .fused, let position = state.position else { return false }
      let truth = hardware.world.truth(at: position.at)
      return abs(position.value.latitudeDegrees - truth.latitudeDegrees) * 111_000 < 10
        && abs(position.value.longitudeDegrees - truth.longitudeDegrees) * 111_000 < 10
    }
    // On a busy machine a sample that is read late gets a late timestamp, so not every position agrees with the truth
    // of its instant.
    let seen = await states.values { $0.last.map(isThere) == true || $0.count { $0.mode == .fused } > 500 }
    subscription.cancel()
    #expect(seen.contains(where: isThere), "\(String(describing: seen.last?.position))")
    await hub.isOff()
  }

  @Test(arguments: [I2CFault.noAcknowledge, .timeOut])
  func `an IMU that does not answer fails with a reason, delays no other device, and recovers by itself`(
    _ fault: I2CFault
  ) async {
    hardware.imu.inject(fault)
    let states = Recorder<FusedState>()
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.imu?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = subscribe(states)
    let failed = await statuses.first { $0.power == .failed }
    #expect(failed.reason.contains("0x68"))
    _ = await states.first { $0.mode == .gnss }
    hardware.imu.inject(nil)
    _ = await states.first { $0.mode == .fused }
    subscription.cancel()
    await hub.isOff()
    #expect(!imuIsOn)
    watching?.cancel()
  }

  /// After a dip of its supply, or on a stuck bus, a chip still answers, but measures nothing.
  @Test(arguments: [nil, .stuck(0), .stuck(0xFF)] as [I2CFault?])
  func `an IMU that stops measuring fails with a reason, and recovers by itself`(
    _ fault: I2CFault?
  ) async {
    let states = Recorder<FusedState>()
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.imu?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = subscribe(states)
    _ = await statuses.first { $0.power == .tracking }
    if let fault { hardware.imu.inject(fault) } else { hardware.imu.lostPower() }
    let failed = await statuses.first { $0.power == .failed }
    #expect(failed.reason.contains("0x68") && failed.reason.contains("no longer measures"), "\(failed.reason)")
    hardware.imu.inject(nil)
    _ = await statuses.values { $0.last?.power == .tracking }
    subscription.cancel()
    await hub.isOff()
    #expect(!imuIsOn)
    watching?.cancel()
  }

  @Test func `a receiver whose port hangs up fails with a reason, and recovers by itself`() async {
    let states = Recorder<FusedState>()
    let statuses = Recorder<DeviceStatus>()
    let watching = hub.receiver?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) })
    let subscription = subscribe(states)
    _ = await statuses.first { $0.power == .tracking }
    hardware.receiver.hangUp()
    let failed = await statuses.first { $0.power == .failed }
    #expect(failed.reason.contains("has gone away"))
    _ = await statuses.values { $0.last?.power == .tracking }
    subscription.cancel()
    await hub.isOff()
    #expect(!gpsIsOn)
    watching?.cancel()
  }

  @Test func `shutting down switches everything off although a client still listens`() async {
    let states = Recorder<FusedState>()
    let subscription = subscribe(states)
    _ = await states.first { $0.mode == .fused }
    hub.shutDown()
    await hub.isOff()
    #expect(!gpsIsOn && !imuIsOn)
    subscription.cancel()
  }

  @Test func `after the last client has left, the state is asleep with only the last known position`()
    async throws
  {
    let states = Recorder<FusedState>()
    let subscription = subscribe(states)
    let fused = await states.first { $0.mode == .fused }
    subscription.cancel()
    await hub.isOff()
    let asleep = hub.lastState.value
    #expect(asleep?.mode == .asleep)
    #expect(asleep?.asleepSince != nil)
    #expect(asleep?.fix == nil && asleep?.attitude == nil && asleep?.motion == nil && asleep?.rates == nil)
    let known = try #require(asleep?.position)
    #expect(known.at >= (try #require(fused.position)).at)
    // The position survives a reload of the board file.
    #expect(await hub.apply(hub.board) == [])
    #expect(hub.lastState.value?.position?.value == known.value)
    // The position also survives a subscription that is too short for a fix. The receiver is muted, because this thread
    // may end the subscription late.
    hardware.receiver.setMuted(true)
    subscribe(states).cancel()
    await hub.isOff()
    #expect(hub.lastState.value?.mode == .asleep)
    #expect(hub.lastState.value?.position?.value == known.value && hub.lastState.value?.position?.at == known.at)
  }

  @Test func `a hundred quick visits end with the power off`() async {
    for visit in 0..<100 {
      let states = Recorder<FusedState>()
      let subscription = subscribe(states)
      if visit % 10 == 0 { _ = await states.first(1) }
      subscription.cancel()
    }
    await hub.isOff()
    #expect(hub.waits { !gpsIsOn && !imuIsOn })
  }
}
