import Devices
import Fusion
import HardwareIO
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// Scheduled fixes of a board whose inertial sensor waits for motion, in a world that stands and then moves, with a
/// clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct StandingStillTests {
  private typealias Bench = ScheduleBench

  private static let imu =
    "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, power: { supplyVolts: 3.3 }"
  private static let hour = 3600
  private static let quarter = Schedule(every: .seconds(900), accuracyMetres: 10, within: .seconds(45))

  /// Returns once the chip waits for motion and has not moved.
  private static func awaitStill(_ bench: Bench) -> Bool {
    bench.hub.waits { bench.hub.registry.value.motion?.stillness.latest?.isStill == true }
  }

  /// A bench on which a client has had its first fix, and the board stands.
  private static func standing(
    for seconds: Int, imu: String = StandingStillTests.imu, on schedule: Schedule = StandingStillTests.quarter,
    _ got: Recorder<Bench.Got>
  ) throws -> (Bench, Subscription) {
    let bench = try Bench(imu: imu, parked: 0..<Double(seconds))
    let lease = bench.subscribe("log[7]", schedule, got)
    #expect(awaitStill(bench))
    bench.pass(40)
    #expect(got.values.count == 1 && got.values[0].fix.isMet && !got.values[0].fix.isStill)
    #expect(bench.rises == 1 && !bench.isHigh)
    return (bench, lease)
  }

  @Test func `a still board that delivers a fix every quarter of an hour never switches its receiver on for a day`()
    async throws
  {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, got)
    bench.pass(24 * Self.hour)
    #expect(bench.rises == 1 && bench.status.wakes == 1)
    let first = try #require(got.values.first?.fix.state.position)
    let again = got.values.dropFirst()
    #expect(again.count == 96 && again.allSatisfy { $0.fix.isStill && $0.fix.isMet }, "\(again.count)")
    var sigma = try #require(first.value.horizontalSigmaMetres)
    for one in again {
      let position = try #require(one.fix.state.position)
      #expect(one.at - one.fix.due <= .seconds(1) && one.fix.state.at >= one.at)
      // The position is never delivered as a new one.
      #expect(position.at == first.at && position.value.latitudeDegrees == first.value.latitudeDegrees)
      #expect(one.fix.state.mode == .asleep && one.fix.state.motion == nil)
      let next = try #require(position.value.horizontalSigmaMetres)
      #expect(next > sigma && next < sigma + 0.1)
      sigma = next
    }
    let radius = try #require(again.last?.fix.radiusMetres)
    #expect(radius <= 10)
    let report = try #require(bench.status.schedules.first)
    #expect(report.wake == nil && report.reason.contains("the board has not moved"), "\(report)")
    lease.cancel()
    await bench.end()
  }

  @Test func `the first motion wakes the receiver at once, and the next fix is a new one`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: Self.hour, got)
    bench.pass(Self.hour - 40)
    #expect(bench.rises == 1 && !bench.wire.simulated.lsm6dsoxInterrupt.isHigh)
    let count = got.values.count
    // The board moves. The hub learns this from the chip's line, which may be low again by the time a test looks.
    let line = bench.wire.simulated.lsm6dsoxInterrupt.edges(falling: false)
    bench.clock.run(until: bench.clock.now + .seconds(5))
    let noticed = bench.clock.now
    // If the sensor's own thread was just reading the chip, that raises the line.
    #expect(Poller(stop: -1).wait(for: line.fileDescriptor, atMost: .seconds(180)) == .readable)
    #expect(try line.takeEdges() != nil)
    line.close()
    #expect(bench.hub.waits { bench.isHigh } && bench.rises == 2)
    bench.settle()
    bench.pass(20)
    let fix = try #require(got.values.dropFirst(count).first)
    #expect(!fix.fix.isStill && fix.fix.isMet && fix.fix.due <= noticed, "\(fix)")
    let position = try #require(fix.fix.state.position)
    #expect(position.at > noticed)
    // Without motion the next fix would have been due much later.
    #expect(got.values.count == count + 1)
    lease.cancel()
    await bench.end()
  }

  @Test func `a tracker that stands 22 of 24 hours takes less than a fiftieth of the energy of staying on`()
    async throws
  {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 22 * Self.hour, got)
    bench.pass(24 * Self.hour - 40)
    let fresh = got.values.filter { !$0.fix.isStill }
    // In two hours of driving there are eight fixes, and one at the start of the drive.
    #expect((9...12).contains(fresh.count), "\(fresh.count) new ones of \(got.values.count)")
    #expect(got.values.count >= 96 && fresh.allSatisfy(\.fix.isMet))
    let always = 360.0 * 24
    let energy = bench.hub.devices.reduce(0) { $0 + $1.energyMilliwattHours }
    #expect(energy * 50 < always, "\(energy) of \(always) mWh")
    // The hourly record has the same energy, even if it is read a week later.
    let logged = bench.hub.devices.flatMap(\.energyByClientOfWeek).reduce(0) { $0 + $1.milliwattHours }
    #expect(abs(logged - energy) < 0.01 * energy, "\(logged) of \(energy) mWh")
    lease.cancel()
    await bench.end()
  }

  @Test func `the energy of waiting for motion is charged to its clients, and ends with them`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, got)
    let before = bench.hub.devices[1]
    #expect(before.power == .asleep && before.reason == "it waits for motion" && before.wakes == 0, "\(before)")
    bench.pass(10 * Self.hour)
    let drawn = bench.hub.devices[1].energyMilliwattHours - before.energyMilliwattHours
    #expect(abs(drawn - 0.025 * 3.3 * 10) < 0.01, "\(drawn)")
    let clientEnergy = try #require(bench.hub.devices[1].energyByClient.first { $0.payer == "log" })
    #expect(clientEnergy.milliwattHours >= drawn)
    lease.cancel()
    #expect(bench.hub.monitors[1].changes.waits { $0.reason != "it waits for motion" })
    #expect(bench.hub.waits { bench.hub.registry.value.motion?.isActive == false })
    let after = bench.hub.devices[1].energyMilliwattHours
    bench.pass(10 * Self.hour)
    #expect(abs(bench.hub.devices[1].energyMilliwattHours - after - 0.003 * 3.3 * 10) < 0.01)
    await bench.end()
  }

  @Test(arguments: ["\(StandingStillTests.imu), wakeOnMotion: false", "power: { supplyVolts: 3.3 }"])
  func `without the key or the line for waking on motion, fixes come as scheduled`(_ imu: String) async throws {
    let bench = try Bench(imu: imu, parked: 0..<Double(48 * Self.hour))
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.quarter, got)
    bench.pass(Self.hour)
    #expect(bench.rises >= 4 && got.values.count >= 4 && got.values.allSatisfy { !$0.fix.isStill })
    #expect(bench.hub.devices[1].reason != "it waits for motion" && bench.hub.devices[1].wakes == 0)
    lease.cancel()
    await bench.end()
  }

  @Test
  func `a sensor that fails while it waits for motion is reported, and fixes come as scheduled until it recovers`()
    async throws
  {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, got)
    bench.pass(Self.hour)
    #expect(bench.rises == 1)
    bench.wire.simulated.inject(.noAcknowledge, at: 0x6A)
    bench.pass(900)
    #expect(bench.hub.waits { bench.hub.devices[1].warning?.contains("cannot wait for motion") == true })
    #expect(bench.hub.registry.value.motion?.stillness.latest == .unknown)
    let count = got.values.count
    bench.pass(2 * Self.hour)
    #expect(bench.rises >= 8 && got.values.dropFirst(count).allSatisfy { !$0.fix.isStill && $0.fix.isMet })
    bench.wire.simulated.inject(nil, at: 0x6A)
    // The hub retries at intervals. During an attempt the clock stands still, so that the next fix does not become due
    // before the attempt ends.
    let motion = try #require(bench.hub.registry.value.motion)
    while motion.stillness.latest?.isStill != true {
      // There is not only the plan's timer but also that of the next attempt, which is set after one has failed.
      if !motion.isActive {
        await bench.clock.sleepers(2)
        bench.clock.run(until: bench.clock.now + .seconds(1))
      }
      try #require(bench.hub.waits { !motion.isActive || motion.stillness.latest?.isStill == true })
    }
    bench.settle()
    bench.pass(1800)
    let rises = bench.rises
    bench.pass(Self.hour)
    #expect(bench.rises == rises && got.values.last?.fix.isStill == true && bench.hub.devices[1].warning == nil)
    lease.cancel()
    await bench.end()
  }

  @Test(arguments: [false, true])
  func `a board that can sleep stays awake only for an interval that relies on its motion sensor`(_ relies: Bool)
    async throws
  {
    let got = Recorder<Bench.Got>()
    var schedule = Self.quarter
    schedule.needsStillness = relies
    let (bench, lease) = try Self.standing(
      for: 48 * Self.hour,
      imu: "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, "
        + "power: { switch: 'gpio', chip: 'simulated', line: 'lsm6dsox-power', supplyVolts: 3.3 }", on: schedule, got)
    let needs = relies ? ["log[7] relies on the motion sensor, which is not read while the board sleeps"] : []
    #expect(bench.hub.waits { bench.hub.boardSituation.needs == needs }, "\(bench.hub.boardSituation)")
    #expect(bench.hub.boardSituation.next != nil)
    // The sensor's line is high while the sensor waits for motion.
    #expect(bench.wire.simulated.powerLines.level("lsm6dsox-power"))
    #expect(bench.hub.linesThatAreOn(ignoringResting: true).isEmpty)
    let lines = bench.hub.linesThatAreOn(ignoringResting: false)
    #expect(lines.count == 1 && lines[0].hasSuffix("for imu motion: set 'wakeOnMotion' of imu to false"), "\(lines)")
    lease.cancel()
    #expect(bench.hub.waits { bench.hub.linesThatAreOn(ignoringResting: false).isEmpty })
    await bench.end()
  }

  @Test func `a sensor that was reset does not count as still`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(
      for: 48 * Self.hour,
      imu: "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, "
        + "power: { switch: 'gpio', chip: 'simulated', line: 'lsm6dsox-power', supplyVolts: 3.3 }", got)
    let line = bench.wire.simulated.powerLines
    #expect(line.level("lsm6dsox-power"))
    // The supply fails for a moment.
    let supply = try bench.wire.simulated.gpioOutput(
      GPIOLineName(chip: "simulated", line: "lsm6dsox-power"), activeLow: false)
    try supply.set(true)
    // A second after the reset is detected, the chip waits for motion again.
    let told = Recorder<MotionState>()
    let listening = try #require(bench.hub.registry.value.motion).stillness.observed.subscribe(
      as: "test", receiveValue: { told.append($0) })
    bench.pass(900)
    #expect(told.waits { $0.contains(.unknown) })
    listening.cancel()
    // The client of the fix is notified on the sensor's thread.
    #expect(bench.hub.waits { bench.status.schedules.first?.wake != nil })
    bench.pass(1000)
    #expect(bench.rises == 2 && got.values.last?.fix.isStill == false)
    lease.cancel()
    #expect(bench.hub.waits { !line.level("lsm6dsox-power") })
    await bench.end()
    try supply.close()
  }

  @Test func `a fence on a still board wakes no device, keeps its side, and learns at once that the board moves`()
    async throws
  {
    let night = 8 * Self.hour
    let bench = try Bench(imu: Self.imu, parked: 0..<Double(night))
    let began = bench.clock.now
    bench.metres = { $0.seconds(since: began) > Double(night) ? SIMD2(500, 0) : .zero }
    let place = Coordinate(latitudeDegrees: 52 + 31 / 60.0, longitudeDegrees: 13 + 22 / 60.0)
    let told = Recorder<FenceStatus>()
    let fenceMonitor = FenceMonitor(
      FenceSettings(name: "yard", area: try FenceArea(circleAbout: place, radiusMetres: 100)), clock: bench.clock
    ) { told.append($0) }
    fenceMonitor.begin(on: bench.hub)
    bench.settle()
    #expect(Self.awaitStill(bench))
    bench.pass(60)
    #expect(told.values.map(\.event) == [.found] && fenceMonitor.status.state == .inside)
    let rises = bench.rises
    let first = try #require(fenceMonitor.status.fix)
    bench.pass(night - 61)
    #expect(told.values.map(\.event) == [.found] && bench.rises == rises, "\(told.values), \(bench.rises) rises")
    // The fix keeps its age.
    #expect(fenceMonitor.status.fix?.at == first.at && fenceMonitor.status.fix?.place == first.place)
    bench.pass(60)
    #expect(told.values.map(\.event) == [.found, .leave], "\(told.values)")
    fenceMonitor.end()
    bench.settle()
    await bench.end()
  }

  @Test func `a sensor on the receiver's own supply is not kept on to wait for motion`() async throws {
    let bench = try Bench(
      imu: "dataReady: { chip: 'simulated', line: 'lsm6dsox-int1' }, power: { switch: 'gpio', chip: 'c', line: 'l' }",
      parked: 0..<Double(48 * Self.hour))
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Self.quarter, got)
    bench.pass(100)
    #expect(!bench.isHigh && bench.hub.registry.value.motion == nil)
    lease.cancel()
    await bench.end()
  }

  @Test func `a reload wakes no device of a still board`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, got)
    bench.pass(Self.hour)
    try await bench.reload()
    #expect(bench.hub.makeSafe(isStarting: true) == [])
    bench.pass(Self.hour)
    #expect(bench.rises == 1 && got.values.last?.fix.isStill == true)
    lease.cancel()
    await bench.end()
    #expect(bench.hub.registry.value.motion?.isActive == false)
  }

  /// The request of `error` on a still board.
  private static let sixHours: Schedule = {
    var schedule = Schedule(every: .seconds(6 * 3600), accuracyMetres: 10, within: .seconds(45))
    schedule.needsStillness = true
    return schedule
  }()

  @Test func `an interval that needs stillness takes no part in the fixes of others`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, on: Self.sixHours, got)
    var schedule = Schedule(every: .seconds(600), accuracyMetres: 100, within: .seconds(45))
    schedule.takesReusedFix = false
    let others = Recorder<Bench.Got>()
    let other = bench.subscribe("web[8]", schedule, others)
    bench.pass(Self.hour)
    #expect(others.values.count >= 6 && bench.rises >= 6 && got.values.count == 1, "\(got.values.count)")
    other.cancel()
    lease.cancel()
    await bench.end()
  }

  @Test func `an interval that needs stillness ends at once if the sensor fails`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, on: Self.sixHours, got)
    bench.pass(Self.hour)
    #expect(bench.rises == 1 && got.values.count == 1)
    bench.wire.simulated.inject(.noAcknowledge, at: 0x6A)
    bench.hub.registry.value.motion?.look()
    #expect(bench.hub.waits { bench.isHigh } && bench.rises == 2)
    bench.settle()
    bench.pass(20)
    let fix = try #require(got.values.dropFirst().first)
    #expect(fix.fix.isMet && !fix.fix.isStill && !fix.fix.isStanding, "\(fix)")
    lease.cancel()
    await bench.end()
  }

  @Test func `an interval that needs stillness ends with the detector that a new board file lacks`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(for: 48 * Self.hour, on: Self.sixHours, got)
    bench.pass(Self.hour)
    #expect(bench.rises == 1 && got.values.count == 1)
    bench.write(imu: "power: { supplyVolts: 3.3 }")
    try await bench.reload()
    #expect(bench.hub.registry.value.motion == nil && bench.isHigh && bench.rises == 2)
    bench.pass(20)
    #expect(got.values.count >= 2 && got.values.last?.fix.isStill == false)
    lease.cancel()
    await bench.end()
  }

  @Test func `while another client keeps the receiver awake, a still board gets new fixes`() async throws {
    let got = Recorder<Bench.Got>()
    let (bench, lease) = try Self.standing(
      for: 48 * Self.hour, on: Schedule(every: .seconds(60), accuracyMetres: 10), got)
    let viewer = bench.hub.powerLease(of: "gps").subscribe(
      as: "web 127.0.0.1:4000", receiveValue: { _ in })
    bench.settle()
    bench.pass(30)
    let count = got.values.count
    bench.pass(180)
    let fixes = got.values.dropFirst(count)
    #expect(fixes.count == 3 && fixes.allSatisfy { !$0.fix.isStill && $0.fix.isMet }, "\(fixes)")
    viewer.cancel()
    bench.settle()
    lease.cancel()
    await bench.end()
  }

  @Test func `a client that reads the waiting sensor again and again gets its samples, and the board stays still`()
    async throws
  {
    let clock = SteppedClock()
    var world = World(start: clock.now)
    world.parked = [0..<Double(48 * Self.hour)]
    let text =
      "{ name: 'x', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, \(Self.imu) } } }"
    let hardware = SimulatedHardware(clock: clock, world: world)
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "x"), on: Machine(hardware: hardware, clock: clock))
    let told = Recorder<MotionState>()
    let motion = try #require(hub.registry.value.motion)
    let watch = motion.stillness.subscribe(as: "log[7] (motion)", receiveValue: { told.append($0) })
    let waits = await told.first(1)
    #expect(waits[0].isStill && hub.devices[0].wakes == 0)
    for _ in 1...2 {
      let batches = Recorder<Int>()
      let viewer = try #require(hub.imu).readings.subscribe(
        as: "web 127.0.0.1:4000", receiveValue: { batches.append($0.count) })
      await batches.first(3)
      #expect(hub.devices[0].power == .tracking && hub.devices[0].holders == ["web 127.0.0.1:4000"])
      viewer.cancel()
      #expect(hub.monitors[0].changes.waits { $0.reason == "it waits for motion" })
      #expect(told.values == waits, "\(told.values)")
    }
    watch.cancel()
    #expect(motion.activity.waits { _ in !motion.isActive })
    hub.shutDown()
    await hub.isOff()
  }
}

extension MotionState {
  fileprivate var isStill: Bool { if case .still = self { true } else { false } }
}
