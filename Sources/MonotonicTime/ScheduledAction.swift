import Guarding

/// Something that is to happen at an instant, once, unless it is cancelled before.
public final class ScheduledAction: Sendable {
  public let deadline: MonotonicInstant
  private let action: Guarded<Callback?>
  private let onCancel: @Sendable (ScheduledAction) -> Void

  /// - Parameter onCancel: takes the action out of the queue that it waits in
  init(
    at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void,
    onCancel: @escaping @Sendable (ScheduledAction) -> Void
  ) {
    self.deadline = deadline
    self.action = Guarded(Callback(action))
    self.onCancel = onCancel
  }

  /// Does it, unless it has been done or cancelled.
  func perform() { take()?() }

  /// Once this has returned the action does not begin any more.
  public func cancel() {
    if take() != nil { onCancel(self) }
  }

  private func take() -> Callback? {
    action.withLock { action in
      defer { action = nil }
      return action
    }
  }
}
