import Fusion
import MonotonicTime

/// Learns by how much the true errors of dead reckoning exceed its sigmas.
///
/// The filter's sigmas follow from the assumed noise of its sensors. The true error also contains what the filter does
/// not know, for example a loose mounting, vibration, or a wrong heading. The square of the scale is the mean of the
/// squared ratios of error to sigma, over the last ten or so fixes that ended dead reckoning. This is the usual
/// consistency test of a Kalman filter (normalized innovation squared).
struct ReckoningScale: Sendable {
  /// The number of fixes after which an error is mostly forgotten.
  private static let memory = Double(AcquisitionTimes.memory)
  /// The largest ratio that counts. A larger one shows that the receiver has jumped, or that the solution was lost; the
  /// filter restarts then.
  private static let largestRatio = 5.0

  private var meanSquare = 1.0

  /// When the position of the last fix was measured.
  private var learntAt: MonotonicInstant?

  /// The factor for the sigma of dead reckoning. It is at least 1, because a few small errors prove nothing.
  var factor: Double { max(1, meanSquare).squareRoot() }

  /// Takes a comparison of dead reckoning with a fix, unless it is the one that was taken last.
  mutating func learn(_ check: FusedState.ReckoningCheck) {
    guard check.at != learntAt, check.ratio.isFinite else { return }
    learntAt = check.at
    let ratio = min(check.ratio, ReckoningScale.largestRatio)
    meanSquare += (ratio * ratio - meanSquare) / ReckoningScale.memory
  }
}
