import CLinux
import Glibc
import MonotonicTime

/// Waits for a condition outside this process's control (a file, another process, another thread), looking often at
/// first and then every few milliseconds, and returns whether it held before the deadline. The deadline is far off,
/// because a busy machine takes more than half a minute to serve five hundred clients. It delays only tests that fail.
public func eventually(within limit: Duration = .seconds(180), _ condition: () throws -> Bool) rethrows -> Bool {
  let clock = MonotonicClock()
  let deadline = clock.now + limit
  var pause = Pause()
  while clock.now < deadline {
    if try condition() { return true }
    pause.take()
  }
  return try condition()
}

/// Holds a thread of the product until a condition holds that the test brings about. It has no deadline: if the
/// product's thread gave up before the test did, that would be the defect.
public func hold(until condition: () -> Bool) {
  var pause = Pause()
  while !condition() { pause.take() }
}

/// The pause between two looks. It grows: most conditions hold at once, as soon as another thread has had its turn, and
/// a test of an hour of an injected clock waits thousands of times.
private struct Pause {
  private var microseconds: Int = 50

  mutating func take() {
    var time = timespec(tv_sec: 0, tv_nsec: 1000 * microseconds)
    nanosleep(&time, nil)
    microseconds = min(2 * microseconds, 5000)
  }
}
