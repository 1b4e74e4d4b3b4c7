import Glibc
import Guarding
import TestSupport
import Testing

@testable import MonotonicTime

struct TimerThreadTests {
  @Test func `if no thread could be started for the first timer, actions wait until one can`() async {
    let isLacking = Guarded(true)
    let timers = TimerThread { body in
      isLacking.withLock { $0 } ? EAGAIN : DetachedThread.start("test timers", body)
    }
    let done = Recorder<String>()
    let now = MonotonicClock().now
    let first = timers.schedule(at: now) { done.append("first") }
    #expect(timers.start() == EAGAIN && done.values.isEmpty)
    isLacking.withLock { $0 = false }
    let second = timers.schedule(at: now + .milliseconds(1)) { done.append("second") }
    #expect(await done.first(2) == ["first", "second"])
    #expect(timers.start() == 0)
    withExtendedLifetime((first, second)) {}
  }
}
