/// A 3×3 matrix.
struct Matrix3: Equatable, Sendable {
  var rows: (SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)

  @inline(__always)
  init(_ first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) { rows = (first, second, third) }

  init(diagonal: SIMD3<Double>) {
    self.init(SIMD3(diagonal.x, 0, 0), SIMD3(0, diagonal.y, 0), SIMD3(0, 0, diagonal.z))
  }

  static var zero: Matrix3 { Matrix3(.zero, .zero, .zero) }
  static var identity: Matrix3 { Matrix3(diagonal: SIMD3(1, 1, 1)) }

  /// The rotation matrix of a unit quaternion.
  @inline(__always)
  init(_ q: Quaternion) {
    let xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z
    let xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z
    let wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z
    self.init(
      SIMD3(1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)), SIMD3(2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)),
      SIMD3(2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)))
  }

  @inline(__always)
  static func * (m: Matrix3, v: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(dot(m.rows.0, v), dot(m.rows.1, v), dot(m.rows.2, v))
  }

  @inline(__always)
  static func * (a: Matrix3, b: Matrix3) -> Matrix3 {
    Matrix3(b.combined(a.rows.0), b.combined(a.rows.1), b.combined(a.rows.2))
  }

  /// The weighted sum of the rows.
  @inline(__always)
  func combined(_ weights: SIMD3<Double>) -> SIMD3<Double> {
    weights.x * rows.0 + weights.y * rows.1 + weights.z * rows.2
  }

  @inline(__always)
  static func + (a: Matrix3, b: Matrix3) -> Matrix3 {
    Matrix3(a.rows.0 + b.rows.0, a.rows.1 + b.rows.1, a.rows.2 + b.rows.2)
  }

  @inline(__always)
  static func - (a: Matrix3, b: Matrix3) -> Matrix3 {
    Matrix3(a.rows.0 - b.rows.0, a.rows.1 - b.rows.1, a.rows.2 - b.rows.2)
  }

  @inline(__always)
  static func * (a: Double, b: Matrix3) -> Matrix3 { Matrix3(a * b.rows.0, a * b.rows.1, a * b.rows.2) }

  @inline(__always)
  var transposed: Matrix3 {
    Matrix3(
      SIMD3(rows.0.x, rows.1.x, rows.2.x), SIMD3(rows.0.y, rows.1.y, rows.2.y), SIMD3(rows.0.z, rows.1.z, rows.2.z))
  }

  @inline(__always)
  var diagonal: SIMD3<Double> { SIMD3(rows.0.x, rows.1.y, rows.2.z) }

  /// The inverse, computed from the adjugate; `nil` if the matrix is singular.
  @inline(__always)
  var inverse: Matrix3? {
    let a = cross(rows.1, rows.2), b = cross(rows.2, rows.0), c = cross(rows.0, rows.1)
    let determinant = dot(rows.0, a)
    guard determinant != 0, determinant.isFinite else { return nil }
    return (1 / determinant) * Matrix3(a, b, c).transposed
  }

  /// The symmetric part. Rounding makes covariances slightly asymmetric; this restores the symmetry.
  @inline(__always)
  var symmetrized: Matrix3 { 0.5 * (self + transposed) }

  /// The matrix that maps a vector to its cross product with `v`.
  @inline(__always)
  init(crossing v: SIMD3<Double>) { self.init(SIMD3(0, -v.z, v.y), SIMD3(v.z, 0, -v.x), SIMD3(-v.y, v.x, 0)) }

  static func == (a: Matrix3, b: Matrix3) -> Bool { a.rows == b.rows }
}

// The reductions of SIMD3 leave the order of the additions to the compiler. These functions fix the order, so that a
// replay produces the same bits in every build.

@inline(__always)
func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { a.x * b.x + a.y * b.y + a.z * b.z }

@inline(__always)
func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
  SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

extension SIMD3<Double> {
  @inline(__always)
  var length: Double { dot(self, self).squareRoot() }

  @inline(__always)
  var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }

  @inline(__always)
  func clamped(to limit: Double) -> SIMD3<Double> {
    SIMD3(
      Swift.max(-limit, Swift.min(limit, x)), Swift.max(-limit, Swift.min(limit, y)),
      Swift.max(-limit, Swift.min(limit, z)))
  }
}

/// Solves small systems of linear equations.
enum LinearSystem {
  /// The least-squares solution of the equations; `nil` if they do not determine all unknowns.
  ///
  /// - Parameters:
  ///   - rows: the coefficients, one row per equation
  ///   - values: the right-hand sides
  static func leastSquares(_ rows: [[Double]], _ values: [Double]) -> [Double]? {
    guard let count = rows.first?.count, rows.count >= count, rows.count == values.count else { return nil }
    // The normal equations, with the right-hand side as the last column.
    var matrix = Array(repeating: Array(repeating: 0.0, count: count + 1), count: count)
    for (row, value) in zip(rows, values) {
      for i in 0..<count {
        for j in 0..<count { matrix[i][j] += row[i] * row[j] }
        matrix[i][count] += row[i] * value
      }
    }
    for pivot in 0..<count {
      let best = (pivot..<count).max { abs(matrix[$0][pivot]) < abs(matrix[$1][pivot]) } ?? pivot
      guard abs(matrix[best][pivot]) > 1e-12 else { return nil }
      matrix.swapAt(pivot, best)
      for row in 0..<count where row != pivot {
        let factor = matrix[row][pivot] / matrix[pivot][pivot]
        for column in pivot...count { matrix[row][column] -= factor * matrix[pivot][column] }
      }
    }
    let solution = (0..<count).map { matrix[$0][count] / matrix[$0][$0] }
    return solution.allSatisfy { $0.isFinite } ? solution : nil
  }
}
