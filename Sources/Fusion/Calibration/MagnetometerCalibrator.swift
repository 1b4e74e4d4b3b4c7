import Glibc

/// Finds what iron near the sensor does to the earth's field, from measurements in all directions: they lie on an
/// ellipsoid, whose centre is the hard iron and whose shape is the soft iron.
public struct MagnetometerCalibrator: Sendable {
  private static let capacity = 2000
  /// Directions closer than this, radians, tell the same.
  private static let spacing = 0.12
  private static let neededCount = 150
  /// Microtesla.
  private static let weakestField = 22.0
  /// What is further off than this, relatively, is no ellipsoid.
  private static let largestResidual = 0.15

  private var samples: [SIMD3<Double>] = []

  public init() {}

  /// 0 to 1: how much of the sphere has been seen.
  public var progress: Double {
    min(Double(samples.count) / Double(MagnetometerCalibrator.neededCount), Double(octants.count) / 8, 1)
  }

  /// About the middle of what was seen: not yet the centre, but inside.
  private var middle: SIMD3<Double> {
    guard let first = samples.first else { return .zero }
    return 0.5 * (samples.reduce(first) { pointwiseMin($0, $1) } + samples.reduce(first) { pointwiseMax($0, $1) })
  }

  /// In which of the eight octants about the middle something was seen.
  private var octants: Set<Int> {
    let middle = middle
    return Set(
      samples.map { ($0.x > middle.x ? 1 : 0) + ($0.y > middle.y ? 2 : 0) + ($0.z > middle.z ? 4 : 0) })
  }

  /// - Parameter field: microtesla
  public mutating func add(_ field: SIMD3<Double>) {
    guard field.isFinite, field.length > 1, samples.count < MagnetometerCalibrator.capacity else { return }
    // Of the weakest field that there is on earth, so that the noise of a sensor at rest is no direction of its own.
    let distance = MagnetometerCalibrator.spacing * MagnetometerCalibrator.weakestField
    if samples.allSatisfy({ ($0 - field).length > distance }) { samples.append(field) }
  }

  /// Offset in microtesla, the matrix that makes a sphere of the ellipsoid (rows), how strong the corrected field is, in
  /// microtesla, and the relative root mean square by which its strengths still differ; `nil` while too little was seen, or where
  /// it is no ellipsoid.
  public var result: (offset: SIMD3<Double>, matrix: [SIMD3<Double>], strength: Double, residual: Double)? {
    guard progress >= 1 else { return nil }
    let middle = middle
    let scale = samples.map { ($0 - middle).length }.reduce(0, +) / Double(samples.count)
    // x' A x + b' x = 1 about a point inside, the nine unknowns linear.
    let rows = samples.map { sample -> [Double] in
      let p = (sample - middle) / scale
      return [p.x * p.x, p.y * p.y, p.z * p.z, 2 * p.x * p.y, 2 * p.x * p.z, 2 * p.y * p.z, p.x, p.y, p.z]
    }
    guard let u = LinearSystem.leastSquares(rows, Array(repeating: 1, count: rows.count)) else { return nil }
    let a = Matrix3(SIMD3(u[0], u[3], u[4]), SIMD3(u[3], u[1], u[5]), SIMD3(u[4], u[5], u[2]))
    guard let inverse = a.inverse else { return nil }
    let centre = inverse * (-0.5 * SIMD3(u[6], u[7], u[8]))
    let size = 1 + dot(centre, a * centre)
    guard size > 0, let root = MagnetometerCalibrator.squareRoot((1 / size) * a) else { return nil }
    // The sphere keeps the volume of the ellipsoid, so that strengths stay what they are.
    let determinant = dot(root.rows.0, cross(root.rows.1, root.rows.2))
    guard determinant > 0 else { return nil }
    let matrix = (1 / cbrt(determinant)) * root
    let offset = middle + centre * scale
    let strengths = samples.map { (matrix * ($0 - offset)).length }
    let mean = strengths.reduce(0, +) / Double(strengths.count)
    let variance = strengths.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(strengths.count)
    let residual = variance.squareRoot() / mean
    guard mean > 0, offset.isFinite, residual < MagnetometerCalibrator.largestResidual else { return nil }
    return (offset, [matrix.rows.0, matrix.rows.1, matrix.rows.2], mean, residual)
  }

  /// The symmetric root of a symmetric positive matrix, by Denman and Beavers' iteration.
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

  private func pointwiseMin(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z))
  }
}
