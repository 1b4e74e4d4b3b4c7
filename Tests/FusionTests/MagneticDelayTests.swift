import Glibc
import Testing

@testable import Fusion

struct MagneticDelayTests {
  private var delay = MagneticDelay(interval: 0.01)

  /// Turns in changing directions, with a field that is late by a time in seconds.
  private mutating func turn(_ count: Int, late seconds: Double) {
    for index in 0..<count {
      let angle = Double(index)
      let slope = SIMD3(100 * sin(angle), 100 * cos(1.7 * angle), 0)
      delay.update(field: SIMD3(20, 0, 45) + seconds * slope, slope: slope, isEarths: true)
    }
  }

  @Test mutating func `a magnetometer delay is learned, and learned again quickly after a day of turns`() {
    turn(20_000, late: 0.01)
    #expect(abs(delay.seconds - 0.01) < 0.001)
    turn(2_000_000, late: 0.01)
    turn(30_000, late: 0.03)
    #expect(abs(delay.seconds - 0.03) < 0.001, "\(delay.seconds)")
  }
}
