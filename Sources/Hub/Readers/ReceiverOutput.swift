import Devices
import Guarding
import MonotonicTime
import Publishing

/// The output of a receiver for its clients: the received bytes, and the epochs that they form.
public enum ReceiverOutput: Sendable {
  /// Complete sentences, or complete messages of a binary protocol.
  case bytes(ReceivedBytes)
  case epoch(GNSSObservation)
}

/// Recognizes a repeated epoch. After a change of board, a new selection of receivers begins with the latest epoch of
/// each, which its clients may have already.
final class RepeatedEpochs: Sendable {
  private let last = Guarded<MonotonicInstant?>(nil)

  /// Whether an epoch is not a repetition of the last one.
  func isNew(_ epoch: borrowing GNSSObservation) -> Bool {
    let at = epoch.at
    return last.withLock { last in
      defer { last = at }
      return last != at
    }
  }

  /// Whether an output is not a repetition of the last epoch.
  func isNew(_ output: ReceiverOutput) -> Bool {
    switch output {
    case .bytes: true
    case .epoch(let epoch): isNew(epoch)
    }
  }
}

/// Delivers output of a receiver's reader that is not part of its samples, such as the received bytes, to its
/// subscribers.
final class OutputSubject<Value: Sendable>: Sendable {
  private let subject = Subject<Value, Never>()

  /// A function that passes values to the subscribers; `nil` if there are none at present.
  func forward() -> ((Value) -> Void)? {
    guard subject.hasSubscribers else { return nil }
    return { [subject] in subject.send($0) }
  }

  func add(_ receive: @escaping @Sendable (Value) -> Void) -> Subscription {
    subject.subscribe(as: "receiver output", receiveValue: receive)
  }
}
