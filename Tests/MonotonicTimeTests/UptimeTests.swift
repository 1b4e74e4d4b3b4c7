import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// Clocks of machines with a long uptime, and waits that never end.
@Suite(.timeLimit(.minutes(10)))
struct UptimeTests {
  /// One second before each overflow: milliseconds fill 31 bits after 24.8 days and 32 bits after 49.7 days;
  /// nanoseconds fill 53 bits after 104 days and 63 bits after 292 years.
  static let ages: [MonotonicInstant] = [
    .milliseconds(Int64(Int32.max)), .milliseconds(Int64(UInt32.max)), .nanoseconds(1 << 53), .nanoseconds(Int64.max),
  ].map { (age: Duration) in MonotonicInstant(nanoseconds: (age - .seconds(1)).inNanoseconds) }
  static let longWaits: [Duration] = [
    .milliseconds(Int64(Int32.max)), .milliseconds(Int64(UInt32.max)), .nanoseconds(Int64.max), .seconds(Int64.max),
  ]

  private enum Fault: Error { case broken }

  // MARK: Instants

  @Test(arguments: ages) func `instants of an old clock are as far apart as those of a young one`(
    _ now: MonotonicInstant
  ) {
    let later = now + .milliseconds(500)
    #expect(later > now)
    #expect(later - now == .milliseconds(500))
    #expect(now - later == .milliseconds(-500))
    #expect(later.seconds(since: now) == 0.5)
    #expect(later + .milliseconds(-500) == now)
  }

  @Test func `an instant beyond the clock's range becomes the end of the range`() {
    let first = MonotonicInstant(nanoseconds: .min)
    let last = MonotonicInstant(nanoseconds: .max)
    let now = MonotonicClock().now
    #expect(now + .seconds(Int64.max) == last)
    #expect(last + .nanoseconds(1) == last)
    #expect(now + .seconds(Int64.min) + .seconds(Int64.min) == first)
    #expect(first + .nanoseconds(-1) == first)
    #expect(last - first == .nanoseconds(Int64.max) + .nanoseconds(Int64.max) + .nanoseconds(1))
    #expect(first.duration(to: last) > .seconds(584 * 365 * 86_400))
    let years: Double = 584 * 365 * 86_400
    #expect(first.seconds(since: last) < -years)
    #expect(Duration.seconds(Int64.max).inNanoseconds == .max)
    #expect(Duration.seconds(Int64.min).inNanoseconds == .min)
  }

  // MARK: Waiting

  @Test(arguments: longWaits) func `a timer in the far future waits, and delays no other timer`(
    _ wait: Duration
  ) async {
    let clock = MonotonicClock()
    let done = Recorder<String>()
    let distant = clock.schedule(at: clock.now + wait) { done.append("distant") }
    let near = clock.schedule(at: clock.now + .milliseconds(1)) { done.append("near") }
    await done.first(1)
    let next = clock.schedule(at: clock.now + .milliseconds(1)) { done.append("next") }
    #expect(await done.first(2) == ["near", "next"])
    distant.cancel()
    withExtendedLifetime((near, next)) {}
  }

  @Test(arguments: longWaits) func `a long wait for a device ends only when the device is ready`(_ wait: Duration) {
    let stop = StopSignal()
    let data = WakeSignal()
    let poller = Poller(stop: stop.fileDescriptor)
    // Raised on another thread, so that the wait has usually begun.
    #expect(DetachedThread.start("device") { data.raise() } == 0)
    #expect(poller.wait(for: data.fileDescriptor, atMost: wait) == .readable)
    #expect(DetachedThread.start("stop") { stop.set() } == 0)
    #expect(poller.wait(for: nil, atMost: wait) == .stopped)
  }

  @Test(arguments: ages) func `a wait by an old clock ends when its time is over`(_ now: MonotonicInstant) {
    let stop = StopSignal()
    #expect(Poller(stop: stop.fileDescriptor, clock: ManualClock(now: now)).wait(for: nil, atMost: .zero) == .timedOut)
  }

  @Test func `an interval timer that begins in the far future is set and has not fired`() throws {
    let timer = try IntervalTimer(every: .seconds(Int64.max), from: MonotonicClock().now)
    #expect(timer.takeExpirations() == 0)
  }

  // MARK: Publishers

  /// A device whose power state is recorded, on the clock of this test.
  private func device(_ power: Recorder<Bool>, idleTimeout: Duration, _ clock: ManualClock) -> LazyPublisher<Int, Never>
  {
    LazyPublisher(deriving: "device", timing: LifecycleTiming(idleTimeout: idleTimeout), clock: clock) {
      (_) throws(Never) in
      power.append(true)
      return Subscription { power.append(false) }
    }
  }

  @Test(arguments: ages) func `a device's idle timeout on an old clock has the right length`(
    _ now: MonotonicInstant
  ) {
    let clock = ManualClock(now: now)
    let power = Recorder<Bool>()
    let device = device(power, idleTimeout: .milliseconds(500), clock)
    device.subscribe(as: "client", receiveValue: { _ in }).cancel()
    clock.advance(by: .milliseconds(499))
    #expect(power.values == [true])
    clock.advance(by: .milliseconds(1))
    #expect(power.values == [true, false])
  }

  @Test(arguments: longWaits)
  func `a device whose idle timeout never ends stays on, and can be shut down`(
    _ idleTimeout: Duration
  ) {
    let clock = ManualClock()
    let power = Recorder<Bool>()
    let device = device(power, idleTimeout: idleTimeout, clock)
    device.subscribe(as: "client", receiveValue: { _ in }).cancel()
    clock.advance(by: .seconds(86_400))
    #expect(power.values == [true])
    device.shutDown()
    #expect(power.values == [true, false])
  }

  @Test(arguments: ages) func `throttled values on an old clock keep their interval`(_ now: MonotonicInstant) {
    let clock = ManualClock(now: now)
    let source = Subject<Int, Never>()
    let values = Recorder<Int>()
    let subscription = source.throttled(to: .milliseconds(400), clock: clock)
      .subscribe(as: "client", receiveValue: { values.append($0) })
    source.send(1)
    source.send(2)
    clock.advance(by: .milliseconds(399))
    #expect(values.values == [1])
    clock.advance(by: .milliseconds(1))
    #expect(values.values == [1, 2])
    source.send(3)
    #expect(values.values == [1, 2])
    clock.advance(by: .milliseconds(400))
    #expect(values.values == [1, 2, 3])
    subscription.cancel()
  }

  @Test(arguments: ages) func `a device that has failed on an old clock is tried again at the right time`(
    _ now: MonotonicInstant
  ) {
    let clock = ManualClock(now: now)
    let tries = Recorder<MonotonicInstant>()
    let subscription = broken(tries, clock)
      .retrying(Backoff(initial: .milliseconds(300), maximum: .milliseconds(600)), hint: never, clock: clock)
      .subscribe(as: "client", receiveValue: { _ in })
    for _ in 0..<9 { clock.advance(by: .milliseconds(100)) }
    #expect(tries.values.map { $0 - now } == [.zero, .milliseconds(300), .milliseconds(900)])
    subscription.cancel()
  }

  @Test(arguments: longWaits) func `a device whose next attempt is in the far future is tried as soon as a hint comes`(
    _ wait: Duration
  ) {
    let clock = ManualClock()
    let tries = Recorder<MonotonicInstant>()
    let start = clock.now
    let hint = Subject<Void, Never>()
    let subscription = broken(tries, clock)
      .retrying(Backoff(initial: wait, maximum: wait), hint: hint, clock: clock)
      .subscribe(as: "client", receiveValue: { _ in })
    clock.advance(by: .seconds(86_400))
    #expect(tries.values.map { $0 - start } == [.zero])
    hint.send(())
    #expect(tries.values.map { $0 - start } == [.zero, .seconds(86_400)])
    subscription.cancel()
  }

  private let never = Subject<Void, Never>()

  private func broken(_ tries: Recorder<MonotonicInstant>, _ clock: ManualClock) -> LazyPublisher<Int, Fault> {
    LazyPublisher(deriving: "broken", clock: clock) { (_) throws(Fault) in
      tries.append(clock.now)
      throw .broken
    }
  }

  // MARK: A suspend

  /// CLOCK_MONOTONIC stops while a machine sleeps. If it does not (a stopped virtual machine, a process under
  /// SIGSTOP), all overdue actions run at once, each of them once.
  @Test func `after a suspend of a day, every overdue action happens once, and then at its interval`() {
    let clock = ManualClock()
    let day = Duration.seconds(86_400)
    let power = Recorder<Bool>()
    let device = device(power, idleTimeout: .seconds(2), clock)
    device.subscribe(as: "client", receiveValue: { _ in }).cancel()

    let source = Subject<Int, Never>()
    let values = Recorder<Int>()
    let paced = source.throttled(to: .seconds(1), clock: clock)
      .subscribe(as: "client", receiveValue: { values.append($0) })
    source.send(1)
    source.send(2)

    let tries = Recorder<MonotonicInstant>()
    let start = clock.now
    let retried = broken(tries, clock)
      .retrying(Backoff(initial: .seconds(1), maximum: .seconds(1)), hint: never, clock: clock)
      .subscribe(as: "client", receiveValue: { _ in })

    clock.advance(by: day)
    #expect(power.values == [true, false])
    #expect(values.values == [1, 2])
    #expect(tries.values.map { $0 - start } == [.zero, day])

    source.send(3)
    source.send(4)
    // The timer was a day late. The next value follows a second later.
    #expect(values.values == [1, 2])
    clock.advance(by: .seconds(1))
    #expect(values.values == [1, 2, 4])
    #expect(tries.values.map { $0 - start } == [.zero, day, day + .seconds(1)])
    paced.cancel()
    retried.cancel()
  }
}
