import Guarding

/// An action that a clock performs once at an instant, unless it is cancelled first.
public final class ScheduledAction: Sendable {
  public let deadline: MonotonicInstant
  private let action: Guarded<Callback?>
  private let onCancel: @Sendable (ScheduledAction) -> Void

  /// - Parameter onCancel: removes the action from the queue that it waits in
  init(
    at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void,
    onCancel: @escaping @Sendable (ScheduledAction) -> Void
  ) {
    self.deadline = deadline
    self.action = Guarded(Callback(action))
    self.onCancel = onCancel
  }

  /// Performs the action, unless it has been performed or cancelled.
  func perform() { take()?() }

  /// Cancels the action. After this returns, the action does not start.
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
