import Glibc

/// A rotation as a unit quaternion in Hamilton's convention. As an attitude it rotates vectors from body axes (x
/// forward, y right, z down) to the local north, east, down frame.
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

  /// The rotation about `vector` by its length in radians.
  @inline(__always)
  public init(rotationVector vector: SIMD3<Double>) {
    let square = dot(vector, vector) / 4
    let cosine: Double
    let half: Double
    if square < 0.0025 {
      // Nearly all rotations between two samples are this small. The next terms of the series are below the last bit.
      cosine = 1 - square * (1.0 / 2 - square * (1.0 / 24 - square * (1.0 / 720 - square / 40320)))
      half = 0.5 * (1 - square * (1.0 / 6 - square * (1.0 / 120 - square * (1.0 / 5040 - square / 362_880))))
    } else {
      let angle = square.squareRoot()
      cosine = cos(angle)
      half = sin(angle) / angle / 2
    }
    self.init(w: cosine, x: vector.x * half, y: vector.y * half, z: vector.z * half)
  }

  /// A rotation by yaw about down, then pitch about right, then roll about forward, in radians.
  public init(roll: Double, pitch: Double, yaw: Double) {
    self =
      Quaternion(rotationVector: SIMD3(0, 0, yaw)) * Quaternion(rotationVector: SIMD3(0, pitch, 0))
      * Quaternion(rotationVector: SIMD3(roll, 0, 0))
  }

  @inline(__always)
  public static func * (a: Quaternion, b: Quaternion) -> Quaternion {
    Quaternion(
      w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w)
  }

  public var conjugate: Quaternion { Quaternion(w: w, x: -x, y: -y, z: -z) }

  @inline(__always)
  public var normalized: Quaternion {
    let length = (w * w + x * x + y * y + z * z).squareRoot()
    guard length > 0, length.isFinite else { return .identity }
    return Quaternion(w: w / length, x: x / length, y: y / length, z: z / length)
  }

  /// The same rotation with length one, if only rounding has changed the length, as in a product of unit quaternions.
  @inline(__always)
  var renormalized: Quaternion {
    // A step of Newton's method for the inverse of the length.
    let scale = 1.5 - 0.5 * (w * w + x * x + y * y + z * z)
    return Quaternion(w: w * scale, x: x * scale, y: y * scale, z: z * scale)
  }

  /// Rotates a vector; for an attitude, from body axes to north, east, down.
  @inline(__always)
  public func rotate(_ v: SIMD3<Double>) -> SIMD3<Double> {
    let u = SIMD3(x, y, z)
    let t = 2 * cross(u, v)
    return v + w * t + cross(u, t)
  }

  /// The inverse of `init(rotationVector:)`: a vector of length at most π.
  public var rotationVector: SIMD3<Double> {
    let sign: Double = w < 0 ? -1 : 1
    let vector = SIMD3(x, y, z) * sign
    let length = vector.length
    return length < 1e-12 ? 2 * vector : vector * (2 * atan2(length, w * sign) / length)
  }

  /// The same attitude relative to the east, north, up frame instead of north, east, down.
  public var inEastNorthUp: Quaternion {
    // Half a turn about the horizontal axis midway between north and east.
    Quaternion(w: 0, x: 0.5.squareRoot(), y: 0.5.squareRoot(), z: 0) * self
  }

  /// The roll in radians, -π to π.
  public var roll: Double { atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) }
  /// The pitch in radians, -π/2 to π/2.
  public var pitch: Double { asin(max(-1, min(1, 2 * (w * y - z * x)))) }
  /// The yaw in radians from north, -π to π.
  public var yaw: Double { atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) }
}
