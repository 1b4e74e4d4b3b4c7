import CLinux
import Glibc
import HardwareIO
import MonotonicTime
import Testing

struct PollerTests {
  @Test func `stopping has precedence over data, and data over the time`() throws {
    let stop = clinux_eventfd()
    let data = clinux_eventfd()
    defer {
      close(stop)
      close(data)
    }
    let poller = Poller(stop: stop)
    #expect(poller.wait(for: data, atMost: .zero) == .timedOut)
    #expect(poller.wait(for: nil, atMost: .milliseconds(1)) == .timedOut)
    _ = clinux_eventfd_raise(data)
    #expect(poller.wait(for: data) == .readable)
    _ = clinux_eventfd_raise(stop)
    #expect(poller.wait(for: data) == .stopped)
  }

  @Test func `an interval timer fires once an interval, and counts those that nobody waited for`() throws {
    let stop = clinux_eventfd()
    defer { close(stop) }
    let clock = MonotonicClock()
    // Begun ten intervals ago: ten have passed at least, however slow this machine is.
    let timer = try IntervalTimer(every: .milliseconds(1), from: clock.now.advanced(by: .milliseconds(-10)))
    #expect(Poller(stop: stop).wait(for: timer.fileDescriptor) == .readable)
    #expect(timer.takeExpirations() >= 10)
  }
}
