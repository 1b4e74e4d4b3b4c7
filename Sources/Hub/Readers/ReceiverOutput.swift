import Devices
import Publishing

/// The output of a receiver for its clients: the received bytes, and the epochs that they form.
public enum ReceiverOutput: Sendable {
  /// Complete sentences, or complete messages of a binary protocol.
  case bytes(ReceivedBytes)
  case epoch(GNSSObservation)
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
