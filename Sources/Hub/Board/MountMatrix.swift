/// The orientation of a sensor on the board. The matrix converts vectors from the sensor's axes to the body's (x
/// forward, y right, z down).
public struct MountMatrix: Equatable, Sendable {
  private var rows: (SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)

  public static func == (a: MountMatrix, b: MountMatrix) -> Bool { a.rows == b.rows }

  public static let identity = MountMatrix(rows: (SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)))

  private init(rows: (SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)) { self.rows = rows }

  /// `nil` unless the rows have length one, are at right angles, and are right-handed.
  public init?(_ first: SIMD3<Double>, _ second: SIMD3<Double>, _ third: SIMD3<Double>) {
    func dot(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { (a * b).sum() }
    let normal = SIMD3(
      first.y * second.z - first.z * second.y, first.z * second.x - first.x * second.z,
      first.x * second.y - first.y * second.x)
    func isUnit(_ row: SIMD3<Double>) -> Bool { abs(dot(row, row) - 1) < 0.01 }
    guard isUnit(first), isUnit(second), isUnit(third), abs(dot(first, second)) < 0.01, dot(normal, third) > 0.99
    else { return nil }
    rows = (first, second, third)
  }

  /// The rows: the axes of the body as vectors in the sensor's axes.
  var vectors: [SIMD3<Double>] { [rows.0, rows.1, rows.2] }

  public func apply(_ vector: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3((rows.0 * vector).sum(), (rows.1 * vector).sum(), (rows.2 * vector).sum())
  }
}
