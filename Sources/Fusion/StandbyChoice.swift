import MonotonicTime

/// Which of several sensors of a kind is believed: the first that measures, and another one in its place while that is silent.
public struct StandbyChoice: Sendable {
  private struct Sensor: Sendable {
    var latest: MonotonicInstant?
    /// Since when it has measured without a pause.
    var since: MonotonicInstant?
  }

  /// Who is silent for so long is silent.
  private let silence: Duration
  /// A preferred one that is back has to measure for so long.
  private let proof: Duration
  private var sensors: [Sensor]
  /// Its place in the order of preference.
  private var current: Int?

  public init(count: Int, silence: Duration = .milliseconds(300), proof: Duration = .seconds(3)) {
    sensors = Array(repeating: Sensor(), count: count)
    self.silence = silence
    self.proof = proof
  }

  /// Whether measurements are to be used.
  ///
  /// - Parameters:
  ///   - rank: in the order of preference
  ///   - at: of the newest of them
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
    guard isSilent || isProven else { return false }
    current = rank
    return true
  }
}
