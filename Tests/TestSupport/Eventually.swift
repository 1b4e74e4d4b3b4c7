import CLinux
import MonotonicTime

/// Waits for a condition outside this process's control (a file, another process), looking every few milliseconds, and
/// returns whether it came to hold before the deadline. That is far off: on a busy machine five hundred clients take more than
/// half a minute to be served, and who waits for less loses nothing.
public func eventually(within limit: Duration = .seconds(90), _ condition: () throws -> Bool) rethrows -> Bool {
  let clock = MonotonicClock()
  let deadline = clock.now + limit
  while clock.now < deadline {
    if try condition() { return true }
    pause(milliseconds: 5)
  }
  return try condition()
}

/// Holds a thread that a test has set going until a condition holds, which the test brings about: however long that takes on
/// a machine that has others to run, whoever gives up before the test does is the defect that it finds.
public func hold(until condition: () -> Bool) {
  while !condition() { pause(milliseconds: 5) }
}

private func pause(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }
