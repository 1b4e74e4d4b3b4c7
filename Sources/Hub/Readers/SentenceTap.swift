import Devices
import Guarding
import Publishing

/// Who gets a receiver's sentences, while somebody does.
final class SentenceTap: Sendable {
  private final class Listener: Sendable {
    let receive: @Sendable (ReceivedBytes) -> Void

    init(_ receive: @escaping @Sendable (ReceivedBytes) -> Void) { self.receive = receive }
  }

  private let listeners = Guarded<[Listener]>([])

  /// Hands sentences to those who listen now; `nil` where there are none.
  func forward() -> ((ReceivedBytes) -> Void)? {
    let present = listeners.withLock { $0 }
    if present.isEmpty { return nil }
    return { sentences in
      for listener in present { listener.receive(sentences) }
    }
  }

  func add(_ receive: @escaping @Sendable (ReceivedBytes) -> Void) -> Subscription {
    let listener = Listener(receive)
    listeners.withLock { $0.append(listener) }
    return Subscription { [self] in listeners.withLock { $0.removeAll { $0 === listener } } }
  }
}
