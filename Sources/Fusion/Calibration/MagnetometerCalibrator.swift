import Glibc

/// Determines the effect of nearby iron on the earth's field from measurements in all directions. The measurements lie
/// on an ellipsoid, whose centre is the hard iron and whose shape is the soft iron.
public struct MagnetometerCalibrator: Sendable {
  private static let capacity = 2000
  /// Directions closer than this angle in radians count as the same.
  private static let spacing = 0.12
  private static let neededCount = 150
  /// The weakest field on earth, microtesla.
  private static let weakestField = 22.0
  /// The largest relative residual of an ellipsoid.
  private static let largestResidual = 0.15
  /// The share of samples at each end of an axis that is ignored when the middle is determined: one in 20.
  private static let trimmedShare = 20
  /// The tolerance for outliers of a sphere about the middle, relative to its radius.
  private static let roughTolerance = 0.35
  /// The tolerance for outliers of the ellipsoid, relative to its radius.
  private static let fineTolerance = 0.03
  /// A value that differs from the expected value by more than this number of standard deviations is an outlier.
  private static let largestDeviation = 4.0
  /// The ratio of the standard deviation to the median absolute deviation of normally distributed errors.
  private static let normalDeviation = 1.4826
  private static let longestRefit = 10
  /// The smallest share of samples that must lie on one ellipsoid.
  private static let leastInlierShare = 0.8

  private var samples: [SIMD3<Double>] = []

  public init() {}

  /// The progress from 0 to 1: the smaller of the share of the needed samples and the share of the octants that contain
  /// a sample.
  public var progress: Double {
    min(Double(samples.count) / Double(MagnetometerCalibrator.neededCount), Double(octants.count) / 8, 1)
  }

  /// The approximate middle of the samples: not yet the centre, but inside the ellipsoid. The outermost samples of
  /// each axis, which may be outliers, are ignored.
  private var middle: SIMD3<Double> {
    guard !samples.isEmpty else { return .zero }
    func middle(_ values: [Double]) -> Double {
      let sorted = values.sorted()
      let few = sorted.count < 10 ? 0 : max(1, sorted.count / MagnetometerCalibrator.trimmedShare)
      return 0.5 * (sorted[few] + sorted[sorted.count - 1 - few])
    }
    return SIMD3(middle(samples.map(\.x)), middle(samples.map(\.y)), middle(samples.map(\.z)))
  }

  /// The octants about the middle that contain a sample.
  private var octants: Set<Int> {
    let middle = middle
    return Set(
      samples.map { ($0.x > middle.x ? 1 : 0) + ($0.y > middle.y ? 2 : 0) + ($0.z > middle.z ? 4 : 0) })
  }

  /// Adds a sample, unless it is close to an earlier one.
  ///
  /// - Parameter field: the measured field in microtesla
  public mutating func add(_ field: SIMD3<Double>) {
    guard field.isFinite, field.length > 1, samples.count < MagnetometerCalibrator.capacity else { return }
    // The distance is based on the weakest field on earth, so that the noise of a sensor at rest does not count as new
    // directions.
    let distance = MagnetometerCalibrator.spacing * MagnetometerCalibrator.weakestField
    if samples.allSatisfy({ ($0 - field).length > distance }) { samples.append(field) }
  }

  /// The offset in microtesla, the matrix (by rows) that maps the ellipsoid to a sphere, the strength of the
  /// corrected field in microtesla, and the relative root mean square deviation of the corrected strengths. `nil`
  /// while the coverage is insufficient, or if the samples do not lie on an ellipsoid.
  public var result: (offset: SIMD3<Double>, matrix: [SIMD3<Double>], strength: Double, residual: Double)? {
    guard progress >= 1 else { return nil }
    let middle = middle
    // An approximate sphere is fitted first, so that a distant outlier does not distort the first ellipsoid.
    let distances = samples.map { ($0 - middle).length }
    let radius = MagnetometerCalibrator.median(distances)
    var kept = MagnetometerCalibrator.inliers(
      distances, about: radius, least: MagnetometerCalibrator.roughTolerance * radius)
    for _ in 0..<MagnetometerCalibrator.longestRefit {
      guard let fit = fit(kept, about: middle, radius) else { return nil }
      let strengths = samples.map { (fit.matrix * ($0 - fit.offset)).length }
      let strength = MagnetometerCalibrator.median(strengths)
      let next = MagnetometerCalibrator.inliers(
        strengths, about: strength, least: MagnetometerCalibrator.fineTolerance * strength)
      if next == kept { return conclude(fit, kept) }
      kept = next
    }
    return fit(kept, about: middle, radius).flatMap { conclude($0, kept) }
  }

  private typealias Fit = (offset: SIMD3<Double>, matrix: Matrix3)

  private func conclude(
    _ fit: Fit, _ kept: [Int]
  ) -> (offset: SIMD3<Double>, matrix: [SIMD3<Double>], strength: Double, residual: Double)? {
    let enough = MagnetometerCalibrator.leastInlierShare * Double(samples.count)
    guard Double(kept.count) >= enough else { return nil }
    let strengths = kept.map { (fit.matrix * (samples[$0] - fit.offset)).length }
    let mean = strengths.reduce(0, +) / Double(strengths.count)
    let variance = strengths.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(strengths.count)
    let residual = variance.squareRoot() / mean
    guard mean > 0, fit.offset.isFinite, residual < MagnetometerCalibrator.largestResidual else { return nil }
    return (fit.offset, [fit.matrix.rows.0, fit.matrix.rows.1, fit.matrix.rows.2], mean, residual)
  }

  /// The least-squares ellipsoid through some of the samples; `nil` if they do not lie on one.
  private func fit(_ kept: [Int], about middle: SIMD3<Double>, _ scale: Double) -> Fit? {
    // The equation x' A x + b' x = 1, about a point inside the ellipsoid, is linear in its nine unknowns.
    let rows = kept.map { index -> [Double] in
      let p = (samples[index] - middle) / scale
      return [p.x * p.x, p.y * p.y, p.z * p.z, 2 * p.x * p.y, 2 * p.x * p.z, 2 * p.y * p.z, p.x, p.y, p.z]
    }
    guard let u = LinearSystem.leastSquares(rows, Array(repeating: 1, count: rows.count)) else { return nil }
    let a = Matrix3(SIMD3(u[0], u[3], u[4]), SIMD3(u[3], u[1], u[5]), SIMD3(u[4], u[5], u[2]))
    guard let inverse = a.inverse else { return nil }
    let centre = inverse * (-0.5 * SIMD3(u[6], u[7], u[8]))
    let size = 1 + dot(centre, a * centre)
    guard size > 0, let root = MagnetometerCalibrator.squareRoot((1 / size) * a) else { return nil }
    // The sphere has the volume of the ellipsoid, so that the mean strength is preserved.
    let determinant = dot(root.rows.0, cross(root.rows.1, root.rows.2))
    guard determinant > 0 else { return nil }
    return (middle + centre * scale, (1 / cbrt(determinant)) * root)
  }

  /// The indices of the values close to `centre`: within `largestDeviation` standard deviations, or within `least` if
  /// that is more.
  private static func inliers(_ values: [Double], about centre: Double, least: Double) -> [Int] {
    let usual = normalDeviation * median(values.map { abs($0 - centre) })
    let limit = max(largestDeviation * usual, least)
    return values.indices.filter { abs(values[$0] - centre) <= limit }
  }

  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }

  /// The symmetric square root of a symmetric positive matrix, by the iteration of Denman and Beavers.
  private static func squareRoot(_ matrix: Matrix3) -> Matrix3? {
    var y = matrix
    var z = Matrix3.identity
    for _ in 0..<50 {
      guard let yi = y.inverse, let zi = z.inverse else { return nil }
      (y, z) = (0.5 * (y + zi), 0.5 * (z + yi))
    }
    let check = y * y - matrix
    let error = [check.rows.0, check.rows.1, check.rows.2].map(\.length).max() ?? .infinity
    return error < 1e-6 ? y.symmetrized : nil
  }
}
