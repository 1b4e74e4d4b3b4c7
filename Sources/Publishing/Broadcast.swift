import CLinux
import DequeModule
import Guarding
import Synchronization

/// Delivers values to all receivers, one value at a time, in the same order for every receiver, and never under a lock.
///
/// A thread that sends while no other thread is delivering delivers its value itself. If another thread is delivering,
/// or a handler sends, the value goes into a queue and the sender returns. So the handlers of one broadcast never
/// overlap, and a handler may send, subscribe and cancel.
///
/// Two limits keep a sender from delivering other senders' values indefinitely:
/// - A delivering thread has a *share*: its own value plus 16 from the queue. After its share it hands the delivering
///   role to the sender that has waited longest. If no sender is waiting, it keeps delivering, because no other thread
///   would empty the queue. The next sender to arrive then waits and receives the role after the current delivery.
/// - The queue holds 16 deliveries. A thread that sends to a full queue adds its value and waits. The wait ends when
///   the thread receives the role, or when another thread has taken the value out of the queue.
///
/// As a result, one call delivers at most its own value, the 16 of its share, and the 16 left in the queue if no sender
/// is waiting. The first sender in line waits for at most one share, and the others wait only for deliveries queued
/// before them. The queue holds at most 16 deliveries plus one per waiting thread. No value is dropped.
///
/// Only values sent from inside handlers may exceed these limits, because a thread must not wait for itself. A handler
/// may send to the broadcast that called it, or to a broadcast whose delivering thread is waiting, directly or
/// indirectly, for this one (`WaitGraph`). Such a value is always queued, in order. The number of such values is
/// limited by what the handlers of one delivery send.
///
/// The number of deliveries under way or queued decides which thread delivers. It is increased only under the lock,
/// together with the queue. So a delivering thread that sees a number above zero also finds a delivery in the queue. A
/// waiting sender is always released: it waits only while its value is in the queue, and the thread that takes the
/// value out ends the wait.
final class Broadcast<Output: Sendable, Failure: Error>: Sendable {
  private enum Delivery {
    case value(Output, [Receiver<Output, Failure>])
    case completion(Completion<Failure>, [Receiver<Output, Failure>])
  }

  private enum Step {
    case deliver(Delivery)
    case handOver(DeliverySlot)
    /// Another thread has the role.
    case leave
  }

  private struct State {
    var receivers: [Receiver<Output, Failure>] = []
    var queue = Deque<Delivery>()
    /// The number of deliveries queued since the start, and the number taken out again.
    var queuedCount = 0
    var takenCount = 0
    /// The number of deliveries that the thread with the delivering role has taken out of the queue.
    var servedCount = 0
    /// The waiting senders; the one that has waited longest is first.
    var slots = Deque<DeliverySlot>()
    var latest: Output?
    /// The current run. Values sent for another run are dropped.
    var generation = 0

    /// Whether the queue holds more than its capacity or the delivering thread has done its share.
    var isBusy: Bool { queue.count > queueCapacity || servedCount >= deliveryShare }
  }

  private let state = Guarded(State(), rank: .broadcast)
  private let role = DeliveringRole()
  private let replaysLatest: Bool

  init(replaysLatest: Bool, initial: Output? = nil) {
    self.replaysLatest = replaysLatest
    if let initial { state.withLock { $0.latest = initial } }
  }

  var latest: Output? { state.withLock { $0.latest } }

  var hasReceivers: Bool { state.withLock { !$0.receivers.isEmpty } }

  /// Sends a value and delivers it. If another thread is delivering, the value goes into the queue, and this thread may
  /// have to wait.
  func send(_ value: Output, generation: Int = 0) {
    var direct: [Receiver<Output, Failure>]?
    var slot: DeliverySlot?
    state.withLock { state in
      guard state.generation == generation else { return }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return }
      if takeRole(&state) {
        direct = state.receivers
      } else {
        append(value, &state)
        slot = takeSlot(&state)
      }
    }
    if let direct {
      for receiver in direct { receiver.receive(value) }
      finishDelivery()
    } else if let slot {
      wait(slot)
    }
  }

  // The `stage` methods queue a delivery and never block. If they return `true`, the caller must call `deliver` on the
  // same thread after it has released its locks.

  func stage(_ value: Output, generation: Int = 0) -> Bool {
    state.withLock { state in
      guard state.generation == generation else { return false }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return false }
      append(value, &state)
      return takeRole(&state) || mustWait(state)
    }
  }

  /// Adds a receiver. If the broadcast replays, the receiver gets the latest value first.
  func stage(adding receiver: Receiver<Output, Failure>) -> Bool {
    state.withLock { state in
      state.receivers.append(receiver)
      guard replaysLatest, let latest = state.latest else { return false }
      return enqueue(.value(latest, [receiver]), &state)
    }
  }

  /// Removes all receivers and queues their completion.
  func stage(_ completion: Completion<Failure>) -> Bool {
    state.withLock { state in
      let receivers = state.receivers
      state.receivers = []
      return receivers.isEmpty ? false : enqueue(.completion(completion, receivers), &state)
    }
  }

  /// Delivers the staged values. Waits like a sender if another thread is delivering.
  func deliver() {
    var slot: DeliverySlot?
    let step: Step = state.withLock { state in
      // Threads change the number of deliveries and the holder of the role together under the lock. Only the change of
      // the number to zero needs no lock.
      let isMine =
        role.deliveries.load(ordering: .acquiring) > 0 && role.holder.load(ordering: .relaxed) == currentThread
      if isMine { return next(&state) }
      if !state.queue.isEmpty { slot = takeSlot(&state) }
      return .leave
    }
    if perform(step) { finishDelivery() }
    if let slot { wait(slot) }
  }

  /// Returns once the handlers of all earlier values have returned. Does not wait if this thread is delivering, or
  /// if the delivering thread waits for this one.
  func settle() {
    var slot: DeliverySlot?
    var mustDeliver = false
    state.withLock { state in
      let isSettled = role.deliveries.load(ordering: .acquiring) == 0
      if isSettled || role.holder.load(ordering: .relaxed) == currentThread { return }
      // The thread that delivers takes this empty delivery out of the queue after it has made all earlier ones.
      state.queue.append(.completion(.finished, []))
      state.queuedCount += 1
      mustDeliver = takeRole(&state)
      guard !mustDeliver else { return }
      let new = DeliverySlot(thread: currentThread, number: state.queuedCount)
      state.slots.append(new)
      slot = new
    }
    if mustDeliver { deliver() }
    guard let slot, wait(slot) else { return }
    // If this thread received the role, it may have handed the role over before it reached the empty delivery. It then
    // waits again.
    if state.withLock({ $0.takenCount < slot.number }) { settle() }
  }

  /// Removes a receiver. Returns whether it was registered.
  func remove(_ receiver: Receiver<Output, Failure>) -> Bool {
    state.withLock { state in
      guard let index = state.receivers.firstIndex(where: { $0 === receiver }) else { return false }
      state.receivers.remove(at: index)
      return true
    }
  }

  /// Starts a new generation: forgets the latest value and drops later values of other generations.
  func begin(generation: Int) {
    state.withLock { state in
      state.generation = generation
      state.latest = nil
    }
  }

  func forgetLatest(generation: Int) {
    state.withLock { state in
      if state.generation == generation { state.latest = nil }
    }
  }

  // MARK: The delivering role

  /// Increments the number of deliveries. If the role was free, this thread takes it. Returns whether it did.
  private func takeRole(_ state: inout State) -> Bool {
    guard role.deliveries.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue == 0 else { return false }
    role.holder.store(currentThread, ordering: .relaxed)
    state.servedCount = 0
    return true
  }

  private func finishDelivery() {
    while role.deliveries.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue > 0 {
      guard deliverNext() else { return }
    }
  }

  /// Makes the next delivery or hands over the role. Returns whether this thread still has the role.
  @inline(never)
  private func deliverNext() -> Bool { perform(state.withLock { next(&$0) }) }

  private func next(_ state: inout State) -> Step {
    if state.servedCount >= deliveryShare, let slot = state.slots.popFirst() {
      role.holder.store(slot.thread, ordering: .releasing)
      state.servedCount = 0
      return .handOver(slot)
    }
    guard let delivery = state.queue.popFirst() else { return .leave }
    state.servedCount += 1
    state.takenCount += 1
    while let slot = state.slots.first, slot.number <= state.takenCount {
      state.slots.removeFirst()
      slot.end(withRole: false)
    }
    return .deliver(delivery)
  }

  private func perform(_ step: Step) -> Bool {
    switch step {
    case .deliver(.value(let value, let receivers)): for receiver in receivers { receiver.receive(value) }
    case .deliver(.completion(let completion, let receivers)):
      for receiver in receivers { receiver.complete(completion) }
    case .handOver(let slot):
      slot.end(withRole: true)
      return false
    case .leave: return false
    }
    return true
  }

  // MARK: Waiting

  /// Whether a thread that has queued a delivery without taking the role must wait.
  private func mustWait(_ state: State) -> Bool {
    state.isBusy && role.holder.load(ordering: .relaxed) != currentThread
  }

  /// Adds this thread to the waiting senders if it must wait.
  @inline(never)
  private func takeSlot(_ state: inout State) -> DeliverySlot? {
    guard mustWait(state) else { return nil }
    let slot = DeliverySlot(thread: currentThread, number: state.queuedCount)
    state.slots.append(slot)
    return slot
  }

  /// Waits until another thread has taken this thread's delivery out of the queue. If this thread receives the
  /// delivering role first, it delivers, and then returns. Returns whether this thread was allowed to wait.
  @inline(never)
  @discardableResult
  private func wait(_ slot: DeliverySlot) -> Bool {
    let mayWait = WaitGraph.enter(slot.thread, waitingFor: role)
    // A thread that may not wait leaves the line, unless another thread has just served it. In that case `wait` returns
    // without blocking.
    if !mayWait, withdraw(slot) { return false }
    let hasRole = slot.wait()
    if mayWait { WaitGraph.leave(slot.thread) }
    if hasRole, deliverNext() { finishDelivery() }
    return mayWait
  }

  /// Removes a waiting sender. Returns whether it was still waiting.
  private func withdraw(_ slot: DeliverySlot) -> Bool {
    state.withLock { state in
      guard let index = state.slots.firstIndex(where: { $0 === slot }) else { return false }
      state.slots.remove(at: index)
      return true
    }
  }

  // MARK: The queue

  /// Returns whether the caller must call `deliver`.
  private func enqueue(_ delivery: Delivery, _ state: inout State) -> Bool {
    state.queue.append(delivery)
    state.queuedCount += 1
    return takeRole(&state) || mustWait(state)
  }

  // This is not inlined, like `deliverNext`: values may be large, and a call that does not use the queue should not
  // reserve stack space for copies.
  @inline(never)
  private func append(_ value: Output, _ state: inout State) {
    state.queue.append(.value(value, state.receivers))
    state.queuedCount += 1
  }
}

/// The number of queued deliveries that a thread makes before it hands over the role, and the capacity of the queue.
/// 16 is large enough that fast handlers rarely change threads, and small enough that slow handlers do not hold up a
/// reader for long.
private let deliveryShare = 16
private let queueCapacity = 16

private var currentThread: UInt { UInt(pthread_self()) }
