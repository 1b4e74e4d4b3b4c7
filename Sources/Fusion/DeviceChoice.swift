import MonotonicTime

/// Chooses the receiver to use among several: the most accurate one or, if several are similar, the preferred one. A
/// single good fix does not cause a change.
public struct ReceiverChoice: Sendable {
  /// A receiver counts as having no fix if its last fix is older than this, and also older than two and a half of its
  /// usual intervals.
  private static let lifetime = Duration.milliseconds(2500)
  /// How long another receiver must be better before it is chosen.
  private static let proof = Duration.seconds(5)
  /// A less preferred receiver counts as better if its sigma is below this share of the other sigma. A preferred one
  /// may be worse by the same ratio.
  private static let advantage = 0.7

  private struct Receiver: Sendable {
    var sigma = Double.infinity
    var reportedAt: MonotonicInstant?
    /// Whether the report at `reportedAt` was used.
    var isTaken = false
    var fixAt: MonotonicInstant?
    var betterSince: MonotonicInstant?
    /// The usual interval between two fixes. A single long silence lengthens it by at most half.
    var interval: Duration?

    /// How long a fix of this receiver is valid.
    var lifetime: Duration { max(ReceiverChoice.lifetime, (interval ?? .zero) * 2.5) }
  }

  private var receivers: [Receiver]
  /// The rank of the receiver in use, in the order of preference.
  private var current: Int?

  /// The rank of the receiver in use; `nil` before the first report.
  public var taken: Int? { current }

  public init(count: Int) { receivers = Array(repeating: Receiver(), count: count) }

  /// Whether to use a report. Repeated calls for the same report return the same answer.
  ///
  /// - Parameters:
  ///   - rank: the receiver's rank in the order of preference
  ///   - sigma: the sigma of its horizontal position in metres; `nil` without a position
  public mutating func take(_ rank: Int, sigma: Double?, at: MonotonicInstant) -> Bool {
    if receivers[rank].reportedAt == at { return receivers[rank].isTaken }
    receivers[rank].reportedAt = at
    receivers[rank].isTaken = judge(rank, sigma: sigma, at: at)
    return receivers[rank].isTaken
  }

  private mutating func judge(_ rank: Int, sigma: Double?, at: MonotonicInstant) -> Bool {
    if let sigma {
      // A receiver that was silent was not better during the silence.
      let silence = receivers[rank].fixAt.map { at - $0 }
      if silence.map({ $0 > receivers[rank].lifetime }) ?? true { receivers[rank].betterSince = nil }
      // Times that do not increase say nothing about the interval.
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
      // A receiver without a fix is better than one that no longer reports.
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

/// Chooses the sensor to use among several of a kind: the first that measures, or another one while the first is
/// silent or implausible.
public struct StandbyChoice: Sendable {
  private struct Sensor: Sendable {
    var latest: MonotonicInstant?
    /// The time since which the sensor has measured without a pause.
    var since: MonotonicInstant?
    /// Whether its measurements were implausible when it was last used.
    var isImplausible = false
  }

  /// The time without a measurement after which a sensor counts as silent.
  private let silence: Duration
  /// How long a preferred sensor must measure again before it is used.
  private let proof: Duration
  private var sensors: [Sensor]
  /// The rank of the sensor in use.
  private var current: Int?

  public init(count: Int, silence: Duration = .milliseconds(300), proof: Duration = .seconds(3)) {
    sensors = Array(repeating: Sensor(), count: count)
    self.silence = silence
    self.proof = proof
  }

  /// Whether to use the measurements of a sensor.
  ///
  /// - Parameters:
  ///   - rank: the sensor's rank in the order of preference
  ///   - at: the time of the newest measurement
  public mutating func take(_ rank: Int, at: MonotonicInstant) -> Bool {
    let pause = sensors[rank].latest.map { at - $0 }
    sensors[rank].latest = at
    if pause.map({ $0 > silence }) ?? true { sensors[rank].since = at }
    guard let present = current else {
      current = rank
      return true
    }
    if rank == present { return true }
    let isSilent = sensors[present].latest.map { at - $0 > silence } ?? true
    let isProven = rank < present && sensors[rank].since.map { at - $0 >= proof } ?? false
    let isBetter = !sensors[rank].isImplausible && (isProven || sensors[present].isImplausible)
    guard isSilent || isBetter else { return false }
    current = rank
    return true
  }

  /// Records whether the measurements of the sensor in use are plausible. An implausible sensor gives way to another
  /// one, and is used again only if all others are silent.
  public mutating func note(isImplausible: Bool, _ rank: Int) { sensors[rank].isImplausible = isImplausible }
}
