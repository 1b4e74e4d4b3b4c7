import Glibc
import Testing

@testable import Fusion

/// Turns that are so slow and steady that a gyroscope could take them for its bias.
struct SlowTurnTests {
  private static let hertz = 100.0
  private static let degree = Double.pi / 180
  private static let earthField = SIMD3(20.0, 0, 45)

  /// A sensor with a bias, and the filter that processes its samples.
  private struct Rig {
    var filter: OrientationFilter
    var attitude = Quaternion.identity
    var bias: SIMD3<Double>
    let hasCompass: Bool
    private var random = RandomNumbers(seed: 9)
    private var step = 0
    /// The error of the filter's heading at the start, without a compass.
    private var headingAtStart = 0.0

    init(hasCompass: Bool, bias: SIMD3<Double>) {
      self.hasCompass = hasCompass
      self.bias = bias
      filter = OrientationFilter(
        interval: 1 / hertz, magneticInterval: hasCompass ? 5 / hertz : nil,
        magneticStrength: hasCompass ? earthField.length : nil)
    }

    /// Rotates the sensor. Returns the largest heading error in degrees.
    mutating func turn(_ rate: SIMD3<Double>, seconds: Double) -> Double {
      var worst = 0.0
      for _ in 0..<Int(seconds * hertz) {
        step += 1
        attitude = (attitude * Quaternion(rotationVector: rate / hertz)).normalized
        let back = attitude.conjugate
        let field = hasCompass && step % 5 == 0 ? back.rotate(earthField) + random.vector(0.3) : nil
        filter.update(
          gyroscope: rate + bias + random.vector(0.002),
          accelerometer: back.rotate(SIMD3(0, 0, -9.80665))
            + random.vector(0.03), magnetometer: field, seconds: 1 / hertz)
        worst = max(worst, abs(headingError))
      }
      return worst
    }

    private var headingError: Double {
      let error = filter.attitude * attitude.conjugate
      var angle = 2 * atan2(error.z, error.w) - headingAtStart
      angle -= (angle / (2 * .pi)).rounded() * 2 * .pi
      return angle / degree
    }

    mutating func beginMeasuring() {
      if !hasCompass { headingAtStart += headingError * degree }
    }
  }

  private static let axes = [
    SIMD3(0.0, 0, 1), SIMD3(0, 0, -1), SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(0.7, 0, 0.7), SIMD3(-0.6, 0.6, 0.5),
  ]

  @Test(arguments: [0.5, 1, 2, 3, 3.5], [true, false])
  func `a turn of 90 s about any axis does not count as a bias`(_ degreesPerSecond: Double, _ hasCompass: Bool) {
    for axis in SlowTurnTests.axes {
      var rig = Rig(hasCompass: hasCompass, bias: SIMD3(0.3, -0.2, 0.4) * SlowTurnTests.degree)
      _ = rig.turn(.zero, seconds: 40)
      rig.beginMeasuring()
      let rate = degreesPerSecond * SlowTurnTests.degree * axis / axis.length
      let worst = rig.turn(rate, seconds: 90)
      #expect(worst < 3, "about \(axis)")
      // After the turn, no error remains.
      let after = rig.turn(.zero, seconds: 60)
      #expect(after < 3, "about \(axis)")
    }
  }

  @Test func `with a compass, the filter follows a bias that jumps, and takes no turn from the start as a bias`() {
    var rig = Rig(hasCompass: true, bias: .zero)
    _ = rig.turn(.zero, seconds: 40)
    rig.bias = SIMD3(0, 0, 2) * SlowTurnTests.degree
    _ = rig.turn(.zero, seconds: 30)
    #expect((rig.filter.gyroscopeBias - rig.bias).length < 0.1 * SlowTurnTests.degree)
    rig = Rig(hasCompass: true, bias: .zero)
    let worst = rig.turn(SIMD3(0, 0, 3) * SlowTurnTests.degree, seconds: 90)
    #expect(worst < 5 && rig.filter.gyroscopeBias.length < 0.3 * SlowTurnTests.degree)
  }

  @Test func `without a compass, a bias learned wrongly in a turn is corrected soon after the turn`() {
    var rig = Rig(hasCompass: false, bias: .zero)
    // This turn cannot be distinguished from a bias.
    _ = rig.turn(SIMD3(0, 0, 3) * SlowTurnTests.degree, seconds: 20)
    _ = rig.turn(.zero, seconds: 30)
    #expect(rig.filter.gyroscopeBias.length < 0.1 * SlowTurnTests.degree)
  }
}
