import CLinux
import DequeModule
import Guarding
import Synchronization

/// Hands values to all receivers, one after another, in one order for all, and never under a lock.
///
/// Whoever sends while nobody else is delivering delivers on its own thread. A value that arrives meanwhile, from another
/// thread or from inside a handler, waits in a queue, and who sent it goes on. So handlers of one broadcast never overlap,
/// and may send, subscribe and cancel as they like.
///
/// A sender is not captured by what others send:
/// - Its *share* is its own value and 16 out of the queue. After those it hands the delivering role to the first sender
///   that waits. Where none waits it goes on, as nobody else would deliver what is queued; the next sender to come then
///   waits for the role, and gets it after the delivery under way.
/// - The queue takes 16 deliveries. Who sends to a full one leaves its value there and waits, until the role comes to it
///   or its value has been taken up.
///
/// So a call delivers at most its own value, 16 of its share and 16 that are left when nobody comes; who is the first to
/// wait waits for one share at most, and nobody longer than for what was queued before; the queue holds at most 16
/// deliveries and one of each thread that waits. Nothing is dropped.
///
/// Beyond those bounds goes only what is sent from inside handlers, where to wait would be to wait for oneself: to the
/// broadcast that calls the handler, or to one whose delivering thread waits, in the end, for this one (`WaitGraph`). It
/// is queued in any case, and in its place; its number is what the handlers of one delivery send.
///
/// The count of deliveries under way or waiting decides who delivers. It is raised only under the lock, together with
/// the queue; so a delivering thread that finds it above zero also finds the queue filled, and a sender that waits can
/// rely on somebody to come by: it waits only while what it queued is there, and whoever takes that out ends its wait.
final class Broadcast<Output: Sendable, Failure: Error>: Sendable {
  private enum Delivery {
    case value(Output, [Receiver<Output, Failure>])
    case completion(Completion<Failure>, [Receiver<Output, Failure>])
  }

  private enum Step {
    case deliver(Delivery)
    case handOver(Turn)
    /// Somebody else has the role.
    case leave
  }

  private struct State {
    var receivers: [Receiver<Output, Failure>] = []
    var queue = Deque<Delivery>()
    /// How many deliveries have been queued, ever; and how many have been taken out again.
    var queuedCount = 0
    var takenCount = 0
    /// How many deliveries the present holder of the role has taken out of the queue.
    var servedCount = 0
    /// Those who wait, the longest first.
    var turns = Deque<Turn>()
    var latest: Output?
    /// Values sent for an earlier generation are dropped.
    var generation = 0

    /// Whether the queue is too full, or the thread that delivers has done its share.
    var isBusy: Bool { queue.count > queueCapacity || servedCount >= deliveryShare }
  }

  private let state = Guarded(State())
  private let role = DeliveringRole()
  private let replaysLatest: Bool

  init(replaysLatest: Bool, initial: Output? = nil) {
    self.replaysLatest = replaysLatest
    if let initial { state.withLock { $0.latest = initial } }
  }

  var latest: Output? { state.withLock { $0.latest } }

  /// Sends a value and delivers it, unless another thread is delivering and does so in its turn.
  func send(_ value: Output, generation: Int = 0) {
    var direct: [Receiver<Output, Failure>]?
    var turn: Turn?
    state.withLock { state in
      guard state.generation == generation else { return }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return }
      if takeRole(&state) {
        direct = state.receivers
      } else {
        append(value, &state)
        turn = takeTurn(&state)
      }
    }
    if let direct {
      for receiver in direct { receiver.receive(value) }
      finishDelivery()
    } else if let turn {
      wait(turn)
    }
  }

  // The `stage` methods queue a delivery, never wait, and return whether the caller has to call `deliver`, on the same
  // thread, once it holds no lock.

  func stage(_ value: Output, generation: Int = 0) -> Bool {
    state.withLock { state in
      guard state.generation == generation else { return false }
      if replaysLatest { state.latest = value }
      guard !state.receivers.isEmpty else { return false }
      append(value, &state)
      return takeRole(&state) || mustWait(state)
    }
  }

  /// Adds a receiver. With a replay it gets the latest value first.
  func stage(adding receiver: Receiver<Output, Failure>) -> Bool {
    state.withLock { state in
      var place = state.receivers.endIndex
      // Those who come last are few, and stand at the end.
      if !receiver.comesLast { while place > 0, state.receivers[place - 1].comesLast { place -= 1 } }
      state.receivers.insert(receiver, at: place)
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

  /// Delivers what was staged, or waits for its turn like a sender where another thread is delivering.
  func deliver() {
    var turn: Turn?
    let step: Step = state.withLock { state in
      // Both change together under the lock, but for the count's way down to zero.
      let isMine =
        role.deliveries.load(ordering: .acquiring) > 0 && role.holder.load(ordering: .relaxed) == currentThread
      if isMine { return next(&state) }
      if !state.queue.isEmpty { turn = takeTurn(&state) }
      return .leave
    }
    if perform(step) { finishDelivery() }
    if let turn { wait(turn) }
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

  // MARK: The role

  /// Counts one more delivery, and takes the role if nobody has it; returns whether it did.
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

  /// Makes the next delivery, or hands the role over; returns whether it is still this thread's.
  @inline(never)
  private func deliverNext() -> Bool { perform(state.withLock { next(&$0) }) }

  private func next(_ state: inout State) -> Step {
    if state.servedCount >= deliveryShare, let turn = state.turns.popFirst() {
      role.holder.store(turn.thread, ordering: .releasing)
      state.servedCount = 0
      return .handOver(turn)
    }
    guard let delivery = state.queue.popFirst() else { return .leave }
    state.servedCount += 1
    state.takenCount += 1
    while let turn = state.turns.first, turn.number <= state.takenCount {
      state.turns.removeFirst()
      turn.end(withRole: false)
    }
    return .deliver(delivery)
  }

  private func perform(_ step: Step) -> Bool {
    switch step {
    case .deliver(.value(let value, let receivers)): for receiver in receivers { receiver.receive(value) }
    case .deliver(.completion(let completion, let receivers)):
      for receiver in receivers { receiver.complete(completion) }
    case .handOver(let turn):
      turn.end(withRole: true)
      return false
    case .leave: return false
    }
    return true
  }

  // MARK: Waiting

  /// Whether who has just queued something, and has not taken the role, is to wait for its turn.
  private func mustWait(_ state: State) -> Bool {
    state.isBusy && role.holder.load(ordering: .relaxed) != currentThread
  }

  /// Puts this thread into the line of those who wait, if it is to.
  @inline(never)
  private func takeTurn(_ state: inout State) -> Turn? {
    guard mustWait(state) else { return nil }
    let turn = Turn(thread: currentThread, number: state.queuedCount)
    state.turns.append(turn)
    return turn
  }

  /// Waits until this thread is to deliver, and then does; or until what it queued has been taken up by another one.
  @inline(never)
  private func wait(_ turn: Turn) {
    let mayWait = WaitGraph.enter(turn.thread, waitingFor: role)
    // Who may not wait leaves the line, unless its turn has just come: then the wait is as good as over.
    if !mayWait, withdraw(turn) { return }
    let hasRole = turn.wait()
    if mayWait { WaitGraph.leave(turn.thread) }
    if hasRole, deliverNext() { finishDelivery() }
  }

  /// Returns whether the turn was still waiting.
  private func withdraw(_ turn: Turn) -> Bool {
    state.withLock { state in
      guard let index = state.turns.firstIndex(where: { $0 === turn }) else { return false }
      state.turns.remove(at: index)
      return true
    }
  }

  // MARK: The queue

  /// Returns whether the caller has to call `deliver`.
  private func enqueue(_ delivery: Delivery, _ state: inout State) -> Bool {
    state.queue.append(delivery)
    state.queuedCount += 1
    return takeRole(&state) || mustWait(state)
  }

  // Out of line, like `deliverNext`: values are large, and whoever needs no queue should not make room for its copies.
  @inline(never)
  private func append(_ value: Output, _ state: inout State) {
    state.queue.append(.value(value, state.receivers))
    state.queuedCount += 1
  }
}

/// How many queued deliveries a thread makes before it hands the role to one that waits, and how many the queue takes
/// before those who send have to wait. Enough that short handlers cost a change of threads once in so many values at
/// most; few enough that slow ones do not hold a reader up for long.
private let deliveryShare = 16
private let queueCapacity = 16

private var currentThread: UInt { UInt(pthread_self()) }
