import Glibc
import NMEA

/// The dilutions of precision that follow from the directions of the used satellites. A dilution is the factor from a
/// range error to the error of the position or time.
///
/// They are computed from the diagonal of the inverse of HᵀH. H has a row for each satellite: the direction to it
/// (east, north, up) and 1 for the receiver's clock.
struct SkyDilution: Equatable {
  var x: Double
  var y: Double
  var vertical: Double
  var time: Double

  var horizontal: Double { (x * x + y * y).squareRoot() }
  var position: Double { (x * x + y * y + vertical * vertical).squareRoot() }
  var geometric: Double { (x * x + y * y + vertical * vertical + time * time).squareRoot() }

  /// `nil` if fewer than four used satellites have a direction, or if these directions do not determine a position.
  init?(_ sky: Sky) {
    // Each row consists of a row of the matrix and a row of the identity. The operations that turn the left half into
    // the identity turn the right half into the inverse.
    var rows: InlineArray<4, SIMD8<Double>> = [
      [0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0, 1],
    ]
    var count = 0
    for index in 0..<sky.count where SkyDilution.counts(index, of: sky) {
      let elevation = Double(sky[index].elevationDegrees) * .pi / 180
      let azimuth = Double(sky[index].azimuthDegrees) * .pi / 180
      let (east, north, up) = (cos(elevation) * sin(azimuth), cos(elevation) * cos(azimuth), sin(elevation))
      let direction: SIMD8<Double> = [east, north, up, 1, 0, 0, 0, 0]
      rows[0] += east * direction
      rows[1] += north * direction
      rows[2] += up * direction
      rows[3] += direction
      count += 1
    }
    guard count >= 4, SkyDilution.solve(&rows) else { return nil }
    let variances = SIMD4(rows[0][4], rows[1][5], rows[2][6], rows[3][7])
    // A nearly singular matrix gives no usable dilution.
    guard variances.min() > 0, variances.max() < 1e4 else { return nil }
    let sigmas = variances.squareRoot()
    (x, y, vertical, time) = (sigmas[0], sigmas[1], sigmas[2], sigmas[3])
  }

  /// Whether a used satellite adds a direction. A satellite on two frequencies adds only one.
  private static func counts(_ index: Int, of sky: Sky) -> Bool {
    func counts(_ satellite: Satellite) -> Bool { satellite.isUsed && satellite.hasDirection }
    guard counts(sky[index]) else { return false }
    for before in 0..<index where sky[before].number == sky[index].number && counts(sky[before]) { return false }
    return true
  }

  /// Turns the left half into the identity (Gauss and Jordan).
  ///
  /// - Returns: `false` if the matrix is singular
  private static func solve(_ rows: inout InlineArray<4, SIMD8<Double>>) -> Bool {
    for pivot in 0..<4 {
      var best = pivot
      for row in pivot..<4 where abs(rows[row][pivot]) > abs(rows[best][pivot]) { best = row }
      guard abs(rows[best][pivot]) > 1e-9 else { return false }
      rows.swapAt(pivot, best)
      let scaled = rows[pivot] / rows[pivot][pivot]
      for row in 0..<4 { rows[row] -= rows[row][pivot] * scaled }
      rows[pivot] = scaled
    }
    return true
  }
}

extension Satellite {
  /// Whether the direction is known. A receiver that does not know it omits both angles, which are then read as 0. No
  /// receiver receives a satellite exactly in the north on the horizon.
  var hasDirection: Bool { elevationDegrees != 0 || azimuthDegrees != 0 }
}
