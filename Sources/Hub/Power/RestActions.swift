import Guarding
import MonotonicTime

/// The actions that are due while a device rests, in the order of their instants.
struct RestActions: Sendable {
  private struct Action {
    var at: MonotonicInstant
    let perform: Callback
  }

  private var actions: [Action] = []

  /// When the next action is due.
  var next: MonotonicInstant? { actions.first?.at }

  mutating func add(at instant: MonotonicInstant, _ action: Callback) {
    let index = actions.firstIndex { $0.at > instant } ?? actions.endIndex
    actions.insert(Action(at: instant, perform: action), at: index)
  }

  mutating func cancel() { actions = [] }

  /// Makes the actions due earlier after the machine was suspended, because a sleeping device's own clock continued.
  mutating func goBack(by slept: Duration) {
    for index in actions.indices { actions[index].at.moveBack(by: slept) }
  }

  /// Removes the actions that are due.
  ///
  /// - Returns: these actions, which the caller performs in this order
  mutating func takeDue(at now: MonotonicInstant) -> [Callback] {
    let count = actions.firstIndex { $0.at > now } ?? actions.endIndex
    defer { actions.removeFirst(count) }
    return actions[..<count].map(\.perform)
  }
}
