import Devices
import Guarding
import Publishing

/// The data that receivers without a backup supply had when they were last switched off, by ID. It outlives reloads,
/// and, if saved, the hub. Beyond the maximum number of receivers, the oldest data is dropped.
public final class ReceiverKnowledgeStore: Sendable {
  static let mostReceivers = 16

  private let known = Guarded<[String: ReceiverKnowledge]>([:])
  private let property = MutableProperty<[String: ReceiverKnowledge]>([:])

  public init() {}

  /// The data of all receivers, by ID. Sends each change.
  public var present: Property<[String: ReceiverKnowledge]> { property.readOnly }

  /// Restores the saved data of a previous hub; present data is newer and stays.
  public func restore(_ old: [String: ReceiverKnowledge]) { change { $0.merge(old) { new, _ in new } } }

  /// Makes the data older by the time for which the machine was suspended, because the monotonic clock does not count
  /// that time.
  func age(by slept: Duration) {
    change { known in for id in known.keys { known[id]?.age(by: slept) } }
  }

  func knowledge(of id: String) -> ReceiverKnowledge? { known.withLock { $0[id] } }

  func keep(_ knowledge: ReceiverKnowledge?, of id: String) {
    change(sparing: id) { $0[id] = knowledge }
  }

  /// - Parameter id: the receiver whose data is not dropped, even if it is the oldest
  private func change(sparing id: String? = nil, _ change: (inout [String: ReceiverKnowledge]) -> Void) {
    let mustDeliver = known.withLock { known in
      let before = known
      change(&known)
      while known.count > ReceiverKnowledgeStore.mostReceivers,
        let oldest = known.lazy.filter({ $0.key != id }).min(by: { $0.value.isOlder(than: $1.value) })
      {
        known[oldest.key] = nil
      }
      return known != before && property.stage(known)
    }
    if mustDeliver { property.deliver() }
  }
}

extension KnowledgeKeeping {
  /// Keeps the data of one receiver in the machine's store, and takes the time from the machine's host time.
  init(of id: String, on machine: Machine) {
    let (store, time) = (machine.receiverKnowledge, machine.hostTime)
    self.init(
      present: { store.knowledge(of: id) }, keep: { store.keep($0, of: id) }, time: { time.known })
  }
}
