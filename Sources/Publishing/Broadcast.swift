import Guarding
import DequeModule
import Synchronization

/// Hands values to all receivers, one after another, in one order for all, and never under a lock.
///
/// Whoever sends while nobody else is delivering delivers on its own thread; a value that arrives meanwhile, from
/// another thread or from inside a handler, waits in a queue that the delivering thread empties before it returns. So
/// handlers of one broadcast never overlap, and may send, subscribe and cancel as they like.
///
/// The count of deliveries under way or waiting decides who delivers. It is raised only under the lock, together with
/// the queue; so a delivering thread that finds it above zero also finds the queue filled.
final class Broadcast<Output: Sendable, Failure: Error>: Sendable {
  private enum Delivery {
    case value(Output, [Receiver<Output, Failure>])
    case completion(Completion<Failure>, [Receiver<Output, Failure>])
  }

  private struct State {
    var receivers: [Receiver<Output, Failure>] = []
    var queue = Deque<Delivery>()
    var latest: Output?
    /// Values sent for an earlier generation are dropped.
    var generation = 0
  }

  private let state = Guarded(State())
  private let deliveries = Atomic(0)
  private let replaysLatest: Bool

  init(replaysLatest: Bool, initial: Output? = nil) {
    self.replaysLatest = replaysLatest
    if let initial { state.withLock { $0.latest = initial } }
  }

  var latest: Output? { state.withLock { $0.latest } }

  /// Sends a value and delivers it, unless another thread is delivering and does so in its turn.
  func send(_ value: Output, generation: Int = 0) {
    var direct: [Receiver<Output, Failure>]?
    state.withLock { state in
      guard state.generation == generation else { return }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return }
      if raiseDeliveries() {
        direct = state.receivers
      } else {
        append(value, &state)
      }
    }
    guard let direct else { return }
    for receiver in direct { receiver.receive(value) }
    finishDelivery()
  }

  // The `stage` methods queue a delivery and return whether the caller has to call `deliver` once it holds no lock.

  func stage(_ value: Output, generation: Int = 0) -> Bool {
    state.withLock { state in
      guard state.generation == generation else { return false }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return false }
      append(value, &state)
      return raiseDeliveries()
    }
  }

  /// Adds a receiver. With a replay it gets the latest value first.
  func stage(adding receiver: Receiver<Output, Failure>) -> Bool {
    state.withLock { state in
      state.receivers.append(receiver)
      guard replaysLatest, let latest = state.latest else { return false }
      return enqueue(.value(latest, [receiver]), &state)
    }
  }

  /// Completes all present receivers and forgets them.
  func stage(_ completion: Completion<Failure>) -> Bool {
    state.withLock { state in
      let receivers = state.receivers
      state.receivers = []
      return receivers.isEmpty ? false : enqueue(.completion(completion, receivers), &state)
    }
  }

  func deliver() {
    deliverNext()
    finishDelivery()
  }

  /// Removes a receiver; returns whether it was there.
  func remove(_ receiver: Receiver<Output, Failure>) -> Bool {
    state.withLock { state in
      guard let index = state.receivers.firstIndex(where: { $0 === receiver }) else { return false }
      state.receivers.remove(at: index)
      return true
    }
  }

  /// Forgets the latest value and drops what is sent for earlier generations from now on.
  func begin(generation: Int) {
    state.withLock { state in
      state.generation = generation
      state.latest = nil
    }
  }

  private func enqueue(_ delivery: Delivery, _ state: inout State) -> Bool {
    state.queue.append(delivery)
    return raiseDeliveries()
  }

  /// Returns whether the caller is the one to deliver.
  private func raiseDeliveries() -> Bool {
    deliveries.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue == 0
  }

  // Out of line, like `deliverNext`: values are large, and whoever needs no queue should not make room for its copies.
  @inline(never)
  private func append(_ value: Output, _ state: inout State) { state.queue.append(.value(value, state.receivers)) }

  private func finishDelivery() {
    while deliveries.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue > 0 { deliverNext() }
  }

  @inline(never)
  private func deliverNext() {
    switch state.withLock({ $0.queue.popFirst() }) {
    case .value(let value, let receivers): for receiver in receivers { receiver.receive(value) }
    case .completion(let completion, let receivers): for receiver in receivers { receiver.complete(completion) }
    case nil: break
    }
  }
}

/// One subscriber's place in a broadcast.
final class Receiver<Output: Sendable, Failure: Error>: Sendable {
  let name: String
  private let receiveValue: @Sendable (Output) -> Void
  private let receiveCompletion: @Sendable (Completion<Failure>) -> Void
  private let isOver = Atomic(false)

  init(_ subscriber: Subscriber<Output, Failure>) {
    name = subscriber.name
    receiveValue = subscriber.receiveValue
    receiveCompletion = subscriber.receiveCompletion
  }

  var isCancelled: Bool { isOver.load(ordering: .acquiring) }

  /// Ends delivery; returns whether it had not ended before.
  func cancel() -> Bool { !isOver.exchange(true, ordering: .acquiringAndReleasing) }

  func receive(_ value: Output) {
    if !isCancelled { receiveValue(value) }
  }

  func complete(_ completion: Completion<Failure>) {
    if cancel() { receiveCompletion(completion) }
  }
}
