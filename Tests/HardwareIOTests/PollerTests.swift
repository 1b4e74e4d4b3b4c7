import Guarding
import HardwareIO
import MonotonicTime
import Testing

struct PollerTests {
  @Test func `a stop takes precedence over data, and data over a timeout`() throws {
    let stop = StopSignal()
    let data = WakeSignal()
    let poller = Poller(stop: stop.fileDescriptor)
    #expect(poller.wait(for: data.fileDescriptor, atMost: .zero) == .timedOut)
    #expect(poller.wait(for: nil, atMost: .milliseconds(1)) == .timedOut)
    data.raise()
    #expect(poller.wait(for: data.fileDescriptor) == .readable)
    stop.set()
    #expect(poller.wait(for: data.fileDescriptor) == .stopped)
  }

  @Test func `a pause for a chip takes its time although the thread must stop`() {
    let stop = StopSignal()
    stop.set()
    let begin = MonotonicClock().now
    Poller(stop: stop.fileDescriptor).pause(.milliseconds(20))
    #expect(MonotonicClock().now - begin >= .milliseconds(20))
  }

  @Test func `an interval timer fires once per interval, and counts the intervals that passed without a wait`() throws {
    let stop = StopSignal()
    let clock = MonotonicClock()
    // The timer started ten intervals ago, so at least ten have passed, however slow this machine is.
    let timer = try IntervalTimer(every: .milliseconds(1), from: clock.now.advanced(by: .milliseconds(-10)))
    #expect(Poller(stop: stop.fileDescriptor).wait(for: timer.fileDescriptor) == .readable)
    #expect(timer.takeExpirations() >= 10)
    #expect(try Poller(stop: stop.fileDescriptor).wait(for: timer))
    stop.set()
    #expect(try !Poller(stop: stop.fileDescriptor).wait(for: timer))
  }

  /// A clock that advances with each read, so that nothing waits.
  private final class HurryingClock: MonotonicTimeSource {
    private let clock = ManualClock()

    var now: MonotonicInstant {
      clock.advance(by: .seconds(1))
      return clock.now
    }

    var minimumResolution: Duration { clock.minimumResolution }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      clock.schedule(at: deadline, action)
    }
  }

  @Test func `a timer that stops firing causes an error instead of an endless wait`() throws {
    let stop = StopSignal()
    let timer = try IntervalTimer(every: .milliseconds(1), from: MonotonicInstant(nanoseconds: .max - 2_000_000))
    let poller = Poller(stop: stop.fileDescriptor, clock: HurryingClock())
    #expect(throws: HardwareError.timedOut("the kernel's timer")) { try poller.wait(for: timer) }
  }

  @Test func `a supervisor sees the longest wait that a thread intends`() {
    let (stop, data, progress) = (StopSignal(), WakeSignal(), ReaderProgress())
    let poller = Poller(stop: stop.fileDescriptor, progress: progress)
    #expect(progress.waitLimit == nil)
    _ = poller.wait(for: nil, atMost: .milliseconds(1))
    #expect(progress.waitLimit == .milliseconds(1) && progress.stepCount == 2)
    data.raise()
    _ = poller.wait(for: data.fileDescriptor)
    #expect(progress.waitLimit == nil && progress.stepCount == 4)
  }
}
