import Glibc

/// Finds what iron near the sensor does to the earth's field, from measurements in all directions: they lie on an
/// ellipsoid, whose centre is the hard iron and whose shape is the soft iron.
public struct MagnetometerCalibrator: Sendable {
  private static let capacity = 2000
  /// Directions closer than this, radians, tell the same.
  private static let spacing = 0.12
  private static let neededCount = 150

  private var samples: [SIMD3<Double>] = []

  public init() {}

  /// 0 to 1: how much of the sphere has been seen.
  public var progress: Double { min(1, Double(samples.count) / Double(MagnetometerCalibrator.neededCount)) }

  /// - Parameter field: microtesla
  public mutating func add(_ field: SIMD3<Double>) {
    guard field.isFinite, field.length > 1, samples.count < MagnetometerCalibrator.capacity else { return }
    // About the middle of what was seen so far, which is not yet the centre but inside.
    let low = samples.reduce(field) { pointwiseMin($0, $1) }
    let high = samples.reduce(field) { pointwiseMax($0, $1) }
    let middle = 0.5 * (low + high)
    let radius = max(0.25 * (high - low).length, 1)
    let isNew = samples.allSatisfy {
      ($0 - field).length > MagnetometerCalibrator.spacing * max(radius, ($0 - middle).length)
    }
    if isNew { samples.append(field) }
  }

  /// Offset in microtesla, the matrix that makes a sphere of the ellipsoid (rows), and the relative root mean square by
  /// which the corrected strengths still differ; `nil` while too little was seen, or where it is no ellipsoid.
  public var result: (offset: SIMD3<Double>, matrix: [SIMD3<Double>], residual: Double)? {
    guard samples.count >= MagnetometerCalibrator.neededCount else { return nil }
    let scale = samples.map(\.length).reduce(0, +) / Double(samples.count)
    // x' A x + b' x = 1, the nine unknowns linear.
    let rows = samples.map { sample -> [Double] in
      let p = sample / scale
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
    let offset = centre * scale
    let strengths = samples.map { (matrix * ($0 - offset)).length }
    let mean = strengths.reduce(0, +) / Double(strengths.count)
    let variance = strengths.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(strengths.count)
    guard mean > 0, offset.isFinite else { return nil }
    return (offset, [matrix.rows.0, matrix.rows.1, matrix.rows.2], variance.squareRoot() / mean)
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
