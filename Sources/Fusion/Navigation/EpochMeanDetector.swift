/// Distinguishes receivers that report the mean velocity since the previous fix from those that report the present
/// velocity. It compares both assumptions with the movement of the position.
struct EpochMeanDetector: Sendable {
  private static let forgetting = 0.99
  private static let leastEvidence = 20.0
  private static let ratio = 0.5

  private var previous: GNSSMeasurement?
  /// The exponentially decaying sums of the squared misfits in square metres, and of their number.
  private var misfitOfPresent = 0.0
  private var misfitOfMean = 0.0
  private var evidence = 0.0

  /// How long before its fix the velocity was valid, in seconds.
  private(set) var velocityAge = 0.0

  mutating func update(_ fix: GNSSMeasurement) {
    defer { previous = fix }
    guard let previous, let before = previous.validVelocity, let now = fix.validVelocity else { return }
    let seconds = fix.time - previous.time
    guard seconds > 0.01, seconds < 1.5 else {
      velocityAge = 0
      return
    }
    // At a constant speed both assumptions fit.
    if (now - before).length > 0.02 {
      let moved = fix.position.offset(from: previous.position)
      let present = moved - 0.5 * seconds * (now + before)
      let mean = moved - seconds * now
      let keep = EpochMeanDetector.forgetting
      misfitOfPresent = keep * misfitOfPresent + dot(present, present)
      misfitOfMean = keep * misfitOfMean + dot(mean, mean)
      evidence = keep * evidence + 1
    }
    let isMean =
      evidence > EpochMeanDetector.leastEvidence && misfitOfMean < EpochMeanDetector.ratio * misfitOfPresent
    velocityAge = isMean ? seconds / 2 : 0
  }
}
