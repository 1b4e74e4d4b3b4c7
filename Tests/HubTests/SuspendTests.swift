import Fusion
import Guarding
import MonotonicTime
import NMEA
import Publishing
import TestSupport
import Testing

@testable import Devices
@testable import Hub

/// The machine was suspended, so its monotonic clock stood still and earlier knowledge is out of date.
@Suite(.timeLimit(.minutes(10)))
struct SuspendTests {
  private let clock = ManualClock()

  private func replayed(_ feed: ReplayFeed, _ devices: String) throws -> Hub {
    Hub(
      board: try Board(json5: Array("{ name: 'test', devices: { \(devices) } }".utf8), file: "test"),
      on: Machine(replaying: feed, clock: clock, systemTime: { 1_800_000_000_000_000_000 }))
  }

  @Test func `after a suspend, the last state is dropped and the next one is new`() throws {
    let feed = ReplayFeed()
    let hub = try replayed(feed, "baro: { driver: 'bme280', bus: 'simulated/i2c' }")
    func measure(_ pascals: Double) {
      clock.advance(by: .milliseconds(100))
      feed.barometer("baro").send(
        BarometerSample(at: clock.now, pressurePascals: pascals, temperatureCelsius: 20, humidityPercent: nil))
    }
    let watch = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    defer { watch.cancel() }
    measure(100_000)
    #expect(hub.lastState.value?.air?.value.pressurePascals == 100_000)
    clock.suspend(for: .seconds(3600))
    #expect(hub.lastState.value == nil)
    #expect(hub.knownState(at: clock.now).air == nil)
    measure(100_001)
    #expect(hub.lastState.value?.air?.value.pressurePascals == 100_001)
  }

  @Test func `a position from before a suspend, which a receiver's client still has, is not fused after it`() throws {
    let feed = ReplayFeed()
    let hub = try replayed(feed, "gps: { driver: 'nmea', port: '/dev/gps' }")
    func measure(second: Int) {
      clock.advance(by: .seconds(1))
      let text = nmeaLine("GPRMC,1200\(10 + second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A")
      feed.receiver("gps").send(ReceivedBytes(bytes: Array(text.utf8), beganAt: clock.now, readAt: clock.now))
    }
    let epochs = hub.epochs(of: "gps").subscribe(as: "client", receiveValue: { _ in })
    defer { epochs.cancel() }
    for second in 0..<3 { measure(second: second) }
    // A silence ends the last epoch.
    clock.advance(by: .milliseconds(700))
    clock.suspend(for: .seconds(8 * 3600))
    let states = hub.state.subscribe(as: "watch", receiveValue: { _ in })
    defer { states.cancel() }
    clock.advance(by: .milliseconds(500))
    #expect(hub.lastState.value?.position == nil)
    for second in 3..<6 { measure(second: second) }
    #expect(hub.lastState.value?.position != nil)
  }

  /// A clock that interrupts the thread that reads it.
  private final class InterruptedClock: MonotonicTimeSource {
    private let clock = ManualClock()
    private let interruption = Guarded<Callback?>(nil)

    /// Calls a closure once, when the clock is read next.
    func interrupt(_ action: @escaping @Sendable () -> Void) { interruption.withLock { $0 = Callback(action) } }

    var now: MonotonicInstant {
      let action = interruption.withLock { interruption in
        defer { interruption = nil }
        return interruption
      }
      action?()
      return clock.now
    }

    var minimumResolution: Duration { clock.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      clock.schedule(at: deadline, action)
    }
  }

  @Test func `a run of the fusion begins again after a suspend, but not if its last client leaves just then`() throws {
    let clock = InterruptedClock()
    let text = "{ name: 'test', devices: { baro: { driver: 'bme280', bus: 'nowhere' } } }"
    let log = FusionLog(try Board(json5: Array(text.utf8), file: "test"), monitors: [], clock: clock)
    let begins = Recorder<Bool>()
    let observer = log.observe { input, _ in
      if case .begin = input { begins.append(true) } else { begins.append(false) }
    }
    defer { observer.cancel() }
    log.begin()
    log.forget()
    #expect(log.isUnderWay && begins.values == [true, true])
    clock.interrupt { log.end() }
    log.forget()
    #expect(!log.isUnderWay && begins.values == [true, true, false])
  }

  @Test func `after a suspend, neither the receiver's confirmed time nor the system clock's offset is believed`() throws
  {
    let hub = try replayed(ReplayFeed(), "gps: { driver: 'nmea', port: 'nowhere' }")
    let confirmed = UTCTime(nanosecondsSince1970: 5_000_000_000_000)
    hub.machine.hostTime.confirm(confirmed, at: clock.now)
    let last = MutableProperty<ClockOffset?>(
      ClockOffset(source: .epoch, receiverNanosecondsSince1970: 0, systemNanosecondsSince1970: 1))
    let offsets = ClockComparison.offsets(
      of: hub.registry, on: hub.machine, last: last, lastPulse: MutableProperty(nil))
    #expect(hub.machine.hostTime.known?.utc == confirmed && last.value != nil)
    clock.suspend(for: .seconds(1))
    #expect(hub.machine.hostTime.known?.utc != confirmed)
    #expect(last.value == nil)
    withExtendedLifetime(offsets) {}
  }

  @Test func `a suspend adds to the age of a receiver's knowledge and ephemerides`() throws {
    let hub = try replayed(ReplayFeed(), "gps: { driver: 'nmea', port: 'nowhere' }")
    let place = ReceiverKnowledge.Position(latitudeDegrees: 52, longitudeDegrees: 13, sigmaMetres: 10)
    let store = hub.machine.receiverKnowledge
    store.keep(ReceiverKnowledge(receiver: "M8", savedAtInstant: clock.now, place: place), of: "gps")
    clock.suspend(for: .seconds(5 * 3600))
    #expect(store.knowledge(of: "gps")?.age(at: clock.now, nil) == .seconds(5 * 3600))

    var ephemerides = EphemerisCollection()
    ephemerides.receiveFix(at: clock.now)
    ephemerides.sleep(at: clock.now + .seconds(40))
    func isHeardOut(_ now: MonotonicInstant) -> Bool {
      ephemerides.receiveFix(at: now)
      return ephemerides.end(at: now, nextWake: now + .seconds(600), hotStart: nil) != nil
    }
    #expect(!isHeardOut(clock.now + .seconds(60)))
    ephemerides.goBack(by: .seconds(3 * 3600))
    #expect(isHeardOut(clock.now + .seconds(60)))
  }

  @Test func `after a suspend, a reader with a client starts again, and one in its idle timeout ends`() async throws {
    let bench = try ScheduleBench(lingerSeconds: 600)
    let lease = bench.hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(bench.hub.monitors[0].changes.waits { $0.power == .acquiring })
    #expect(bench.clock.waitingCount == 0)
    bench.clock.suspend(for: .seconds(3600))
    // Only the next attempt waits for the clock, for at most a second.
    await bench.clock.sleepers(1)
    bench.clock.advance(by: .seconds(1))
    #expect(bench.hub.waits { bench.status.power == .acquiring && bench.status.wakes == 2 }, "\(bench.status)")
    #expect(bench.rises == 2)
    lease.cancel()
    #expect(bench.hub.monitors[0].changes.waits { $0.power == .lingering }, "\(bench.status)")
    bench.clock.suspend(for: .seconds(3600))
    #expect(bench.hub.waits { bench.status.power == .off && !bench.isHigh }, "\(bench.status)")
    await bench.end()
  }

  @Test func `a fix that became due during a suspend is due at once, and the next one comes earlier by that time`()
    async throws
  {
    let bench = try ScheduleBench()
    let got = Recorder<ScheduleBench.Got>()
    let schedule = Schedule(every: .seconds(600), accuracyMetres: 10, within: .seconds(45))
    let lease = bench.subscribe("log[7]", schedule, got)
    bench.pass(30)
    #expect(got.values.count == 1 && !bench.isHigh)
    let resumedAt = bench.clock.now
    bench.clock.suspend(for: .seconds(3600))
    bench.settle()
    #expect(bench.isHigh, "\(bench.status)")
    bench.pass(30)
    let second = try #require(got.values.count == 2 ? got.values.last : nil)
    #expect(second.fix.isMet && second.at - resumedAt < .seconds(30))
    #expect(second.fix.state.position.map { $0.at > resumedAt } == true)
    #expect(!bench.isHigh)

    let monitor = bench.hub.monitors[0]
    let due = try #require(bench.status.schedules.first?.due)
    let restingSince = try #require(monitor.restingSince)
    let offSince = bench.status.since
    #expect(due - bench.clock.now > .seconds(200))
    bench.clock.suspend(for: .seconds(100))
    bench.settle()
    #expect(bench.status.schedules.first.map { due - $0.due } == .seconds(100))
    // The kind of the next start depends on how long the receiver has been off.
    #expect(monitor.restingSince.map { restingSince - $0 } == .seconds(100))
    #expect(offSince - bench.status.since == .seconds(100))
    #expect(!bench.isHigh)
    lease.cancel()
    await bench.end()
  }

  @Test func `after a suspend, a fence whose fix is late reports this at once, and knows its side with the next fix`()
    async throws
  {
    let bench = try ScheduleBench()
    let anchor = Coordinate(latitudeDegrees: 52 + 31.0 / 60, longitudeDegrees: 13 + 22.0 / 60)
    let said = Recorder<FenceStatus>()
    let fenceMonitor = FenceMonitor(
      FenceSettings(name: "anchor", area: try FenceArea(circleAbout: anchor, radiusMetres: 40)), clock: bench.clock,
      report: { said.append($0) })
    fenceMonitor.begin(on: bench.hub)
    bench.settle()
    bench.pass(120)
    #expect(said.values.map(\.event) == [.found])
    let fixAt = try #require(fenceMonitor.status.fix?.at)
    bench.clock.suspend(for: .seconds(3600))
    #expect(said.values.map(\.event) == [.found, .lost] && fenceMonitor.status.state == .unknown)
    #expect(fenceMonitor.status.fix.map { fixAt - $0.at } == .seconds(3600))
    bench.settle()
    bench.pass(120)
    #expect(said.values.map(\.event) == [.found, .lost, .found], "\(said.values)")
    fenceMonitor.end()
    bench.settle()
    await bench.end()
  }
}
