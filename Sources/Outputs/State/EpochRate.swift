import Fusion
import MonotonicTime

/// Selects the states for protocols that report epochs: one state with each of the receiver's epochs. While the
/// receiver is silent and the state continues without it, this type selects one state a second.
struct EpochRate {
  /// A receiver without a new epoch for this time counts as silent.
  private static let silence = Duration.milliseconds(1500)

  private var lastFix: MonotonicInstant?
  private var lastEpoch: MonotonicInstant?
  private var lastReport: MonotonicInstant?

  /// Checks the next state.
  ///
  /// - Returns: whether to report it
  mutating func take(_ state: FusedState) -> Bool {
    let isEpoch = state.fix != nil && state.fix?.at != lastFix
    if isEpoch {
      lastFix = state.fix?.at
      lastEpoch = state.at
    }
    let isSilent = lastEpoch.map { state.at - $0 >= EpochRate.silence } ?? true
    let isSecondOver = lastReport.map { state.at - $0 >= .seconds(1) } ?? true
    guard isEpoch || isSilent && isSecondOver else { return false }
    lastReport = state.at
    return true
  }
}
