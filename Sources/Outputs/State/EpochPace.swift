import Fusion
import MonotonicTime

/// Picks the states that protocols of receivers report: one with each of the receiver's epochs, and one a second while the
/// receiver is silent and the state goes on without it.
struct EpochPace {
  /// A receiver that has sent nothing for this time has missed an epoch.
  private static let silence = Duration.milliseconds(1500)

  private var lastFix: MonotonicInstant?
  private var lastEpoch: MonotonicInstant?
  private var lastReport: MonotonicInstant?

  /// Takes the next state; returns whether it is one to report.
  mutating func take(_ state: FusedState) -> Bool {
    let isEpoch = state.fix != nil && state.fix?.at != lastFix
    if isEpoch {
      lastFix = state.fix?.at
      lastEpoch = state.at
    }
    let isSilent = lastEpoch.map { state.at - $0 >= EpochPace.silence } ?? true
    let isSecondOver = lastReport.map { state.at - $0 >= .seconds(1) } ?? true
    guard isEpoch || isSilent && isSecondOver else { return false }
    lastReport = state.at
    return true
  }
}
