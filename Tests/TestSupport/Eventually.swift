import CLinux
import Glibc
import MonotonicTime

/// Waits for a condition outside this process's control (a file, another process, another thread), looking often at first and then
/// every few milliseconds, and returns whether it came to hold before the deadline. That is far off: on a busy machine five hundred
/// clients take more than half a minute to be served, and who waits for less loses nothing.
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

/// Holds a thread that a test has set going until a condition holds, which the test brings about: however long that takes on
/// a machine that has others to run, whoever gives up before the test does is the defect that it finds.
public func hold(until condition: () -> Bool) {
  var pause = Pause()
  while !condition() { pause.take() }
}

/// Between two looks. It grows: most of what is waited for is there at once, as another thread has only to have its turn, and a test
/// of an hour of an injected clock waits thousands of times.
private struct Pause {
  private var microseconds: Int = 50

  mutating func take() {
    var time = timespec(tv_sec: 0, tv_nsec: 1000 * microseconds)
    nanosleep(&time, nil)
    microseconds = min(2 * microseconds, 5000)
  }
}
