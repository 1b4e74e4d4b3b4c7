/// The growth of a position's uncertainty between two fixes.
///
/// This is a pure function of time. All sigmas are standard deviations along one axis, as in `FusedState.Position`.
package struct SigmaGrowth: Equatable, Sendable {
  /// The sigma of the position at the beginning.
  var sigmaMetres: Double
  /// The speed at which the true position leaves the known one. It is the board's speed if the known position stays,
  /// and the velocity's sigma if dead reckoning continues the position.
  var metresPerSecond: Double
  /// The growth of `metresPerSecond` per second.
  var metresPerSecondSquared: Double
  /// The limit of the growing speed; `nil` for no limit.
  var mostMetresPerSecond: Double?

  /// The growth for a board that a motion sensor watches, and that has not moved.
  static func still(sigmaMetres: Double) -> SigmaGrowth {
    SigmaGrowth(
      sigmaMetres: sigmaMetres, metresPerSecond: ReusedFix.creepMetresPerHour / 3600, metresPerSecondSquared: 0)
  }

  /// The position's sigma after some seconds.
  package func sigma(after seconds: Double) -> Double {
    let way = way(after: max(0, seconds))
    return (sigmaMetres * sigmaMetres + way * way).squareRoot()
  }

  /// The possible distance of the true position from the known one.
  private func way(after seconds: Double) -> Double {
    let accelerated = metresPerSecond * seconds + metresPerSecondSquared * seconds * seconds / 2
    guard let most = mostMetresPerSecond, most >= metresPerSecond, metresPerSecondSquared > 0 else {
      return accelerated
    }
    let reached = (most - metresPerSecond) / metresPerSecondSquared
    guard seconds > reached else { return accelerated }
    return (metresPerSecond + most) / 2 * reached + most * (seconds - reached)
  }

  /// The seconds until the sigma reaches a bound, at most `most`; 0 if it exceeds the bound from the beginning.
  func seconds(until boundMetres: Double, atMost most: Double) -> Double {
    guard sigmaMetres < boundMetres else { return 0 }
    // If the growth is not a number, this comparison fails, and the bound counts as reached at once.
    if sigma(after: most) <= boundMetres { return most }
    var (low, high) = (0.0, most)
    // The sigma never decreases, so bisection works. It continues until the interval is shorter than a clock can
    // measure.
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if sigma(after: middle) <= boundMetres { low = middle } else { high = middle }
    }
    return low
  }
}
