import Synchronization

/// The registration of one subscriber in a broadcast.
final class Receiver<Output: Sendable, Failure: Error>: Sendable {
  let holders: Holders
  private let receiveValue: @Sendable (Output) -> Void
  private let receiveCompletion: @Sendable (Completion<Failure>) -> Void
  private let isOver = Atomic(false)

  init(_ subscriber: Subscriber<Output, Failure>) {
    holders = subscriber.holders
    receiveValue = subscriber.receiveValue
    receiveCompletion = subscriber.receiveCompletion
  }

  var isCancelled: Bool { isOver.load(ordering: .acquiring) }

  /// Stops delivery. Returns whether the receiver was still active.
  func cancel() -> Bool { !isOver.exchange(true, ordering: .acquiringAndReleasing) }

  func receive(_ value: Output) {
    if !isCancelled { receiveValue(value) }
  }

  func complete(_ completion: Completion<Failure>) {
    if cancel() { receiveCompletion(completion) }
  }
}
