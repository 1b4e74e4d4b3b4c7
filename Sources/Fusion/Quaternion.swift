import Glibc

/// A rotation as a unit quaternion, Hamilton's convention. As an attitude it takes body vectors (x forward, y right,
/// z down) to the local north, east, down frame.
public struct Quaternion: Equatable, Sendable {
  public var w: Double
  public var x: Double
  public var y: Double
  public var z: Double

  public static let identity = Quaternion(w: 1, x: 0, y: 0, z: 0)

  public init(w: Double, x: Double, y: Double, z: Double) {
    self.w = w
    self.x = x
    self.y = y
    self.z = z
  }

  /// The rotation about a vector by its length in radians.
  public init(rotationVector vector: SIMD3<Double>) {
    let angle = (vector * vector).sum().squareRoot()
    // sin(a/2)/a by its series near zero, where the quotient is not defined.
    let factor = angle < 1e-6 ? 0.5 - angle * angle / 48 : sin(angle / 2) / angle
    self.init(w: cos(angle / 2), x: vector.x * factor, y: vector.y * factor, z: vector.z * factor)
  }

  /// Yaw about down, then pitch about right, then roll about forward; radians.
  public init(roll: Double, pitch: Double, yaw: Double) {
    self =
      Quaternion(rotationVector: SIMD3(0, 0, yaw)) * Quaternion(rotationVector: SIMD3(0, pitch, 0))
      * Quaternion(rotationVector: SIMD3(roll, 0, 0))
  }

  public static func * (a: Quaternion, b: Quaternion) -> Quaternion {
    Quaternion(
      w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w)
  }

  public var conjugate: Quaternion { Quaternion(w: w, x: -x, y: -y, z: -z) }

  public var normalized: Quaternion {
    let length = (w * w + x * x + y * y + z * z).squareRoot()
    guard length > 0, length.isFinite else { return .identity }
    return Quaternion(w: w / length, x: x / length, y: y / length, z: z / length)
  }

  /// Rotates a vector.
  public func rotate(_ v: SIMD3<Double>) -> SIMD3<Double> {
    let u = SIMD3(x, y, z)
    let t = 2 * cross(u, v)
    return v + w * t + cross(u, t)
  }

  /// The vector that `init(rotationVector:)` makes this rotation from, of length up to pi.
  public var rotationVector: SIMD3<Double> {
    let sign: Double = w < 0 ? -1 : 1
    let vector = SIMD3(x, y, z) * sign
    let length = (vector * vector).sum().squareRoot()
    return length < 1e-12 ? 2 * vector : vector * (2 * atan2(length, w * sign) / length)
  }

  /// Radians, -pi to pi.
  public var roll: Double { atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) }
  /// Radians, -pi/2 to pi/2.
  public var pitch: Double { asin(max(-1, min(1, 2 * (w * y - z * x)))) }
  /// Radians, -pi to pi, from north.
  public var yaw: Double { atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) }
}

@inline(__always)
func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
  SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}
