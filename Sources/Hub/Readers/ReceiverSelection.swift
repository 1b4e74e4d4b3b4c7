import Devices
import Fusion
import Guarding
import MonotonicTime
import Publishing

/// The fused receivers of a board, and the selected one. The state and all clients that read the receiver itself use
/// the same selection, so that satellites, sentences and time match the position.
public final class ReceiverSelection: Sendable {
  public final class Candidate: Sendable {
    public let description: ReceiverDescription
    public let reader: ReceiverReader
    /// The place in the board's list.
    let rank: Int

    fileprivate init(description: ReceiverDescription, reader: ReceiverReader, rank: Int) {
      self.description = description
      self.reader = reader
      self.rank = rank
    }

    var isAwake: Bool { reader.device.source.activity.value.phase == .running }
  }

  /// The candidates in the order of preference.
  public let candidates: [Candidate]
  private let choice: Guarded<ReceiverChoice>

  init(_ entries: [BoardDevice], on board: Board) {
    let ids = board.candidateReceivers.map(\.id)
    candidates = entries.enumerated().compactMap { rank, entry -> Candidate? in
      guard case .receiver(let description, let reader) = entry, ids.contains(description.id) else { return nil }
      return Candidate(description: description, reader: reader, rank: rank)
    }
    choice = Guarded(ReceiverChoice(count: entries.count))
  }

  /// Whether another selection has the same receivers at the same places.
  func isLike(_ other: ReceiverSelection) -> Bool {
    candidates.elementsEqual(other.candidates) {
      $0.reader === $1.reader && $0.rank == $1.rank && $0.description == $1.description
    }
  }

  /// The selected receiver; the preferred one until a receiver has reported.
  public var taken: Candidate? {
    let rank = choice.withLock { $0.taken }
    let taken = candidates.first { $0.rank == rank } ?? candidates.first
    // If the selected receiver sleeps, a receiver that is awake stands in for it.
    return taken.flatMap { $0.isAwake ? $0 : nil } ?? candidates.first(where: \.isAwake) ?? taken
  }

  /// Whether a receiver's report is selected. Every call for the same report gets the same answer.
  func take(_ observation: borrowing GNSSObservation, of rank: Int) -> Bool {
    let sigma = observation.position.map { $0.horizontalSigmaMetres ?? .greatestFiniteMagnitude }
    let at = observation.at
    return choice.withLock { $0.take(rank, sigma: sigma, at: at) }
  }

  /// The reports of the selected receiver.
  ///
  /// - Parameter wakes: whether to wake all receivers, instead of only listening while other clients keep them awake
  func epochs(
    as holders: Holders, wakes: Bool, _ receive: @escaping @Sendable (GNSSObservation, Candidate) -> Void
  ) -> Subscription {
    let lifetime = Lifetime()
    for candidate in candidates {
      let take: @Sendable (GNSSObservation) -> Void = { [self] observation in
        if self.take(observation, of: candidate.rank) { receive(observation, candidate) }
      }
      let readings = candidate.reader.device.readings
      if wakes {
        readings.subscribe(as: holders, receiveValue: take).store(in: lifetime)
      } else {
        readings.observed.subscribe(as: holders, receiveValue: take).store(in: lifetime)
      }
    }
    return Subscription { lifetime.end() }
  }

  /// The reports of the selected receiver. A subscription wakes all receivers.
  func wakingEpochs(clock: any MonotonicTimeSource) -> LazyPublisher<GNSSObservation, Never> {
    LazyPublisher(deriving: "epochs", clock: clock) { [self] (run) throws(Never) in
      epochs(as: run.holders, wakes: true) { observation, _ in run.send(observation) }
    }
  }

  /// The reports of the selected receiver while other clients keep it awake. A subscription wakes nothing.
  func observedEpochs(clock: any MonotonicTimeSource) -> LazyPublisher<GNSSObservation, Never> {
    LazyPublisher(deriving: "epochs", clock: clock) { [self] (run) throws(Never) in
      epochs(as: run.holders, wakes: false) { observation, _ in run.send(observation) }
    }
  }

  /// The output of the selected receiver while other clients keep it awake. Wakes nothing.
  func outputs(_ receive: @escaping @Sendable (ReceiverOutput) -> Void) -> Subscription {
    let lifetime = Lifetime()
    // This subscription also updates the selection, which `taken` uses.
    epochs(as: Holders("sentences"), wakes: false) { epoch, _ in receive(.epoch(epoch)) }.store(in: lifetime)
    for candidate in candidates {
      candidate.reader.forwardBytes { [self] bytes in
        if taken?.rank == candidate.rank { receive(.bytes(bytes)) }
      }.store(in: lifetime)
    }
    return Subscription { lifetime.end() }
  }
}
