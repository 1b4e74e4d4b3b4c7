import Guarding
import Publishing

/// Delivers output of a receiver's reader that is not part of its samples, such as the received bytes, to its
/// subscribers.
final class OutputSubject<Value: Sendable>: Sendable {
  private final class Listener: Sendable {
    let receive: @Sendable (Value) -> Void

    init(_ receive: @escaping @Sendable (Value) -> Void) { self.receive = receive }
  }

  private let listeners = Guarded<[Listener]>([])

  /// A function that passes values to the present subscribers; `nil` if there are none.
  func forward() -> ((Value) -> Void)? {
    let present = listeners.withLock { $0 }
    if present.isEmpty { return nil }
    return { value in
      for listener in present { listener.receive(value) }
    }
  }

  func add(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
    let listener = Listener(receive)
    listeners.withLock { $0.append(listener) }
    return Subscription { [self] in listeners.withLock { $0.removeAll { $0 === listener } } }
  }
}
