import Guarding
import TestSupport
import Testing

@testable import MonotonicTime

struct AlarmTests {
  private let clock = ManualClock()
  private let alarm: Alarm
  private let done = Recorder<String>()

  init() { alarm = Alarm(clock: clock) }

  private func after(_ seconds: Int64) -> MonotonicInstant { clock.now + .seconds(seconds) }

  private func record(_ name: String) -> @Sendable () -> Void { { [done] in done.append(name) } }

  @Test func `a setting replaces the pending one`() {
    alarm.set(at: after(1), record("first"))
    alarm.set(at: after(2), record("second"))
    #expect(clock.waitingCount == 1)
    clock.advance(by: .seconds(5))
    #expect(done.values == ["second"])
  }

  @Test func `an action that is due at once may set the alarm again`() {
    let later = after(1)
    alarm.set(at: clock.now) { [alarm, done] in
      done.append("first")
      alarm.set(at: later) { done.append("second") }
    }
    #expect(done.values == ["first"])
    clock.advance(by: .seconds(1))
    #expect(done.values == ["first", "second"])
  }

  @Test func `without a deadline no action is pending`() {
    alarm.set(at: after(1), record("first"))
    alarm.set(asking: { nil }, record("second"))
    #expect(clock.waitingCount == 0)
  }

  @Test func `of two concurrent settings the one that began last stays`() {
    let due = Guarded(after(1))
    alarm.set(
      asking: {
        let mine = due.withLock { $0 }
        // Simulates another thread that changes the state and sets the alarm in the meantime.
        due.withLock { $0 = after(2) }
        alarm.set(asking: { due.withLock { $0 } }, record("second"))
        return mine
      }, record("first"))
    #expect(clock.waitingCount == 1)
    clock.advance(by: .seconds(1))
    #expect(done.values.isEmpty)
    clock.advance(by: .seconds(1))
    #expect(done.values == ["second"])
  }

  @Test func `a cancellation while the deadline is asked for leaves no action`() {
    alarm.set(
      asking: {
        alarm.cancel()
        return after(1)
      }, record("first"))
    #expect(clock.waitingCount == 0)
    alarm.set(at: after(1), record("second"))
    clock.advance(by: .seconds(1))
    #expect(done.values == ["second"])
  }

  @Test func `after a cancellation the action of an earlier setting does not begin, although it is due`() {
    alarm.set(
      asking: {
        // Simulates another thread that cancels while this one sets the alarm.
        alarm.cancel()
        return clock.now
      }, record("first"))
    #expect(done.values.isEmpty && clock.waitingCount == 0)
  }

  @Test func `after the end the action of an earlier setting does not begin, although it is due`() {
    alarm.set(
      asking: {
        alarm.end()
        return clock.now
      }, record("first"))
    #expect(done.values.isEmpty && clock.waitingCount == 0)
  }

  @Test func `an action that has begun may cancel the alarm, and continues`() {
    alarm.set(at: after(1)) { [alarm, done] in
      alarm.cancel()
      done.append("first")
    }
    clock.advance(by: .seconds(1))
    #expect(done.values == ["first"])
  }

  @Test func `after the end nothing is set and no deadline is asked for`() {
    alarm.set(at: after(1), record("first"))
    alarm.end()
    alarm.set(
      asking: {
        done.append("asked")
        return after(1)
      }, record("second"))
    clock.advance(by: .seconds(1))
    #expect(done.values.isEmpty)
  }

  @Test func `the action of a released alarm does not begin`() {
    Alarm(clock: clock).set(at: after(1), record("too late"))
    clock.advance(by: .seconds(2))
    #expect(done.values.isEmpty && clock.waitingCount == 0)
  }

  @Test func `a released alarm keeps neither its clock nor what its action needs`() {
    var clock: ManualClock? = ManualClock()
    weak var released: ManualClock?
    weak var needed: Recorder<String>?
    do {
      released = clock
      let recorder = Recorder<String>()
      needed = recorder
      let alarm = Alarm(clock: clock!)
      alarm.set(at: clock!.now + .seconds(1)) { recorder.append("too late") }
    }
    #expect(needed != nil)
    clock = nil
    #expect(released == nil && needed == nil)
  }
}
