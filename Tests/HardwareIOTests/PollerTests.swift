import Guarding
import HardwareIO
import MonotonicTime
import Testing

struct PollerTests {
  @Test func `stopping has precedence over data, and data over the time`() throws {
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

  @Test func `an interval timer fires once an interval, and counts those that nobody waited for`() throws {
    let stop = StopSignal()
    let clock = MonotonicClock()
    // Begun ten intervals ago: ten have passed at least, however slow this machine is.
    let timer = try IntervalTimer(every: .milliseconds(1), from: clock.now.advanced(by: .milliseconds(-10)))
    #expect(Poller(stop: stop.fileDescriptor).wait(for: timer.fileDescriptor) == .readable)
    #expect(timer.takeExpirations() >= 10)
  }
}
