import MonotonicTime

/// Which of several receivers is believed: the surest, unless they are much alike; then the one that is preferred. Nobody is
/// changed for another one because of a single good fix.
public struct ReceiverChoice: Sendable {
  /// Who has had no fix for so long has none, unless it is slower than that.
  private static let lifetime = Duration.milliseconds(2500)
  /// For so long another one has to be better.
  private static let proof = Duration.seconds(5)
  /// By so much one that is not preferred has to be better; and one that is may be worse.
  private static let advantage = 0.7

  private struct Receiver: Sendable {
    var sigma = Double.infinity
    var reportedAt: MonotonicInstant?
    /// Whether that report was used.
    var isTaken = false
    var fixAt: MonotonicInstant?
    var betterSince: MonotonicInstant?
    /// Between two fixes; one long silence says nothing of it.
    var interval: Duration?

    /// For so long without a fix it has one.
    var lifetime: Duration { max(ReceiverChoice.lifetime, (interval ?? .zero) * 2.5) }
  }

  private var receivers: [Receiver]
  /// Its place in the order of preference.
  private var current: Int?

  /// The place of the one that is believed, once any has reported.
  public var taken: Int? { current }

  public init(count: Int) { receivers = Array(repeating: Receiver(), count: count) }

  /// Whether a report is to be used; the answer is the same however often it is asked for.
  ///
  /// - Parameters:
  ///   - rank: in the order of preference
  ///   - sigma: of its horizontal position, metres; `nil` where it has none
  public mutating func take(_ rank: Int, sigma: Double?, at: MonotonicInstant) -> Bool {
    if receivers[rank].reportedAt == at { return receivers[rank].isTaken }
    receivers[rank].reportedAt = at
    receivers[rank].isTaken = judge(rank, sigma: sigma, at: at)
    return receivers[rank].isTaken
  }

  private mutating func judge(_ rank: Int, sigma: Double?, at: MonotonicInstant) -> Bool {
    if let sigma {
      // Who was silent meanwhile has not been better meanwhile.
      let silence = receivers[rank].fixAt.map { at - $0 }
      if silence.map({ $0 > receivers[rank].lifetime }) ?? true { receivers[rank].betterSince = nil }
      // Times that do not grow tell nothing of it.
      if let silence, silence > .zero {
        receivers[rank].interval = min(silence, (receivers[rank].interval ?? silence) * 1.5)
      }
      receivers[rank].sigma = sigma
      receivers[rank].fixAt = at
    }
    guard let present = current else {
      choose(rank)
      return true
    }
    if rank == present { return true }
    guard let sigma else {
      receivers[rank].betterSince = nil
      // One without a fix is better than one that says nothing at all any more.
      let isSilent = receivers[present].reportedAt.map { at - $0 > receivers[present].lifetime } ?? true
      if isSilent { choose(rank) }
      return isSilent
    }
    let isLost = receivers[present].fixAt.map { at - $0 > receivers[present].lifetime } ?? true
    let limit =
      (rank < present ? 1 / ReceiverChoice.advantage : ReceiverChoice.advantage) * receivers[present].sigma
    guard isLost || sigma <= limit else {
      receivers[rank].betterSince = nil
      return false
    }
    let since = receivers[rank].betterSince ?? at
    receivers[rank].betterSince = since
    guard isLost || at - since >= ReceiverChoice.proof else { return false }
    choose(rank)
    return true
  }

  private mutating func choose(_ rank: Int) {
    for index in receivers.indices { receivers[index].betterSince = nil }
    current = rank
  }
}
