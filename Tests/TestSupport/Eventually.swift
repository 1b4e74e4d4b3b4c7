import CLinux
import Glibc
import MonotonicTime

/// Waits for a condition outside this process's control (a file, another process, another thread). It checks often at
/// first and then every few milliseconds, and returns whether the condition held before the deadline. The deadline is
/// long, because a busy machine takes more than half a minute to serve five hundred clients. It delays only tests that
/// fail.
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

/// Holds a thread of the tested program until the test makes a condition true. There is no deadline: if the
/// thread gave up before the test did, that would be the defect.
public func hold(until condition: () -> Bool) {
  var pause = Pause()
  while !condition() { pause.take() }
}

/// The pause between two checks. It grows, because most conditions hold as soon as another thread has run, and
/// a test of an hour of simulated time waits thousands of times.
private struct Pause {
  private var microseconds: Int = 50

  mutating func take() {
    var time = timespec(tv_sec: 0, tv_nsec: 1000 * microseconds)
    nanosleep(&time, nil)
    microseconds = min(2 * microseconds, 5000)
  }
}
