import TestSupport
import Testing

@testable import MonotonicTime

/// The detection of suspends from the machine's clocks.
struct SuspendTests {
  private static let second: Int64 = 1_000_000_000

  @Test func `a suspend is reported once, with its length`() {
    var detector = SuspendDetector(before: 10 * Self.second, boottime: 15 * Self.second)
    #expect(detector.look(before: 20 * Self.second, boottime: 25 * Self.second, after: 20 * Self.second) == nil)
    let slept = detector.look(before: 21 * Self.second, boottime: 3626 * Self.second, after: 21 * Self.second)
    #expect(slept == .seconds(3600))
    #expect(detector.look(before: 22 * Self.second, boottime: 3627 * Self.second, after: 22 * Self.second) == nil)
  }

  @Test func `a thread that is delayed between two readings of the clocks causes no report of a suspend`() {
    // The thread was delayed by a second before its first read of CLOCK_BOOTTIME, and before a later one.
    var detector = SuspendDetector(before: 10 * Self.second, boottime: 11 * Self.second)
    #expect(detector.look(before: 20 * Self.second, boottime: 20 * Self.second, after: 20 * Self.second) == nil)
    #expect(detector.look(before: 30 * Self.second, boottime: 31 * Self.second, after: 31 * Self.second) == nil)
    #expect(detector.look(before: 40 * Self.second, boottime: 40 * Self.second, after: 41 * Self.second) == nil)
  }

  @Test func `observers are called in their order, until they are cancelled or released`() {
    let clock = ManualClock()
    let told = Recorder<String>()
    let first = clock.onResume { told.append("first \($0)") }
    var second: SuspendObservation? = clock.onResume { told.append("second \($0)") }
    clock.suspend(for: .seconds(5))
    #expect(told.values == ["first \(Duration.seconds(5))", "second \(Duration.seconds(5))"])
    withExtendedLifetime(second) {}
    second = nil
    first.end()
    clock.suspend(for: .seconds(5))
    #expect(told.values.count == 2)
  }
}
