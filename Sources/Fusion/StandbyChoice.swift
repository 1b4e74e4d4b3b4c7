import MonotonicTime

/// Chooses the sensor to use among several of a kind: the first that measures, or another one while the first is
/// silent or implausible.
public struct StandbyChoice: Sendable {
  private struct Sensor: Sendable {
    var latest: MonotonicInstant?
    /// Since when the sensor has measured without a pause.
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

  /// Notes whether the measurements of the sensor in use are plausible. An implausible sensor gives way to another one,
  /// and is used again only if all others are silent.
  public mutating func note(isImplausible: Bool, _ rank: Int) { sensors[rank].isImplausible = isImplausible }
}
