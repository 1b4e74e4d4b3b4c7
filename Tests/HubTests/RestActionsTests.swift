import Guarding
import MonotonicTime
import Testing

@testable import Hub

/// The order of the actions for a resting device.
struct RestActionsTests {
  private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: 0) + .seconds(100 + seconds) }

  @Test func `actions are due in the order of their instants, and at one instant in the order of their arrival`() {
    let performed = Guarded<[String]>([])
    var actions = RestActions()
    func add(_ name: String, at instant: MonotonicInstant) {
      actions.add(at: instant, Callback { performed.withLock { $0.append(name) } })
    }
    add("late", at: at(9))
    add("first", at: at(5))
    add("second", at: at(5))
    #expect(actions.next == at(5) && actions.takeDue(at: at(4)).isEmpty)
    for action in actions.takeDue(at: at(5)) { action() }
    #expect(performed.withLock { $0 } == ["first", "second"])
    #expect(actions.next == at(9))
    // The machine was suspended for three seconds.
    actions.goBack(by: .seconds(3))
    #expect(actions.next == at(6))
    actions.cancel()
    #expect(actions.next == nil && actions.takeDue(at: at(60)).isEmpty)
  }
}
