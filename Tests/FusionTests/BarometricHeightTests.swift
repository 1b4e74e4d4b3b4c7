import Glibc
import MonotonicTime
import Testing

@testable import Fusion

/// An hour at one place, with a receiver whose height drifts and a barometer that follows the weather.
struct BarometricHeightTests {
  /// The height error of the receiver in metres: it rises and falls over minutes, by at most five metres.
  private func wander(_ time: Double) -> Double {
    2.6 * sin(2 * .pi * time / 540) + 1.6 * sin(2 * .pi * time / 223 + 1) + 0.9 * sin(2 * .pi * time / 97 + 2)
  }

  private func pressure(height: Double, time: Double) -> Double {
    101_325 * pow(1 - 2.25577e-5 * height, 5.25588) + 40 * sin(2 * .pi * time / (6 * 3600))
  }

  @Test func `with a barometer the height is right to a metre where the receiver alone is off by five`() throws {
    var height = BarometricHeight()
    var worst = (receiver: 0.0, joined: 0.0, normalized: 0.0)
    for second in 0..<5400 {
      let time = Double(second)
      // After an hour, the board climbs a hill.
      let truth = second > 4500 ? 150.0 : 120
      for tenth in 0..<5 {
        height.update(pressurePascals: pressure(height: truth, time: time), time: time + Double(tenth) / 5)
      }
      height.update(altitude: truth + 45 + wander(time), sigma: 4, time: time)
      // During the first half hour, the filter separates the weather from the receiver's errors.
      guard second > 1800, abs(second - 4500) > 5, let found = height.altitude(at: time + 1) else { continue }
      worst.receiver = max(worst.receiver, abs(wander(time)))
      worst.joined = max(worst.joined, abs(found.metres - truth - 45))
      worst.normalized = max(worst.normalized, abs(found.metres - truth - 45) / found.sigma)
    }
    #expect(worst.receiver > 4.5)
    #expect(worst.joined < 1 && worst.normalized < 3, "\(worst)")
  }

  @Test func `a barometer that falls silent gives no height, and a wrong receiver altitude is not believed`() throws {
    var height = BarometricHeight()
    for second in 0..<600 {
      height.update(pressurePascals: 100_000, time: Double(second))
      height.update(altitude: 200, sigma: 3, time: Double(second))
    }
    let before = try #require(height.altitude(at: 600))
    height.update(altitude: 900, sigma: 3, time: 599.5)
    height.update(altitude: .nan, sigma: 3, time: 599.6)
    height.update(pressurePascals: .nan, time: 600)
    #expect(height.altitude(at: 600).map { abs($0.metres - before.metres) < 0.01 } ?? false)
    #expect(height.altitude(at: 605.5) == nil)
    // Single inconsistent fixes are refused, but a repeated one is accepted: the first fix was wrong, or a
    // pressurised cabin has been opened.
    for second in 600..<620 {
      height.update(pressurePascals: 100_000, time: Double(second))
      height.update(altitude: second % 2 == 0 ? 900 : -900, sigma: 3, time: Double(second))
    }
    #expect(height.altitude(at: 620).map { abs($0.metres - before.metres) < 0.01 } ?? false)
    for second in 620..<626 {
      height.update(pressurePascals: 100_000, time: Double(second))
      height.update(altitude: 900, sigma: 3, time: Double(second))
    }
    #expect(height.altitude(at: 626).map { abs($0.metres - 900) < 1 } ?? false)
  }
}
