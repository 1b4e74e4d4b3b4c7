import Glibc
import TestSupport
import Testing

@testable import Fusion

/// A stored magnetometer offset is refined from driving around.
struct MagneticOffsetRefinerTests {
  /// A calibration with some soft iron, of a field of 48 µT.
  private var stored: InertialCalibration {
    var calibration = InertialCalibration()
    calibration.magnetometerOffset = SIMD3(12, -30, 7)
    calibration.magnetometerMatrix = [SIMD3(1.04, 0.02, 0), SIMD3(0.02, 0.97, 0.01), SIMD3(0, 0.01, 1.0)]
    calibration.magnetometerStrength = 48
    return calibration
  }

  /// Measures while a board drives around, with the noise and the tilts of a road.
  private struct Drive {
    var calibration: InertialCalibration
    /// The error of the offset, in microtesla along the chip's axes.
    var error = SIMD3<Double>.zero
    /// The field, in microtesla north, east and down.
    var field = SIMD3(18.0, 1, 44.5)
    var tiltDegrees = 3.0
    var noise = 0.4
    var random: SeededRandom

    /// Measures at a heading. `nearby` is added in the body's axes, for example the field of a truck next to the road.
    mutating func measure(_ heading: Double, nearby: SIMD3<Double> = .zero) -> SIMD3<Double> {
      func uniform(_ limit: Double) -> Double { .random(in: -limit...limit, using: &random) }
      let tilt = tiltDegrees * .pi / 180
      let attitude =
        Quaternion(about: heading)
        * Quaternion(rotationVector: SIMD3(uniform(tilt), uniform(tilt), 0))
      let body =
        attitude.conjugate.rotate(field) + nearby
        + SIMD3(uniform(noise), uniform(noise), uniform(noise))
      let rows = calibration.magnetometerMatrix
      guard let inverse = Matrix3(rows[0], rows[1], rows[2]).inverse else { return body }
      return inverse * body + calibration.magnetometerOffset + error
    }
  }

  private func drive(_ error: SIMD3<Double> = .zero) -> Drive {
    Drive(calibration: stored, error: error, random: SeededRandom())
  }

  /// Drives around some times, a degree in four seconds; returns the first result.
  private func result(
    _ drive: inout Drive, laps: Int, nearby: (_ degrees: Int) -> SIMD3<Double> = { _ in .zero }
  ) throws -> MagneticOffsetRefiner.Result? {
    var refiner = try #require(MagneticOffsetRefiner(stored))
    for degrees in 0..<360 * laps {
      let field = drive.measure(Double(degrees) * .pi / 180, nearby: nearby(degrees))
      if let found = refiner.add(field, time: 4 * Double(degrees)) { return found }
    }
    return nil
  }

  /// The worst error of the heading over a lap on level ground, degrees.
  private func headingError(_ drive: Drive, _ offset: SIMD3<Double>) -> Double {
    var level = drive
    (level.tiltDegrees, level.noise) = (0, 0)
    var calibration = stored
    calibration.magnetometerOffset = offset
    let variation = atan2(drive.field.y, drive.field.x)
    return (0..<36).map { index in
      let heading = Double(index) * .pi / 18
      let corrected = calibration.magnetometer(level.measure(heading))
      let error = atan2(-corrected.y, corrected.x) + variation - heading
      return abs(error - (error / (2 * .pi)).rounded() * 2 * .pi) * 180 / .pi
    }.max() ?? 0
  }

  @Test(arguments: [SIMD3(6.0, 0, 0), SIMD3(-4, 7, 0), SIMD3(3, -2, 2), SIMD3(0, -12, 0)])
  func `a few laps, with a pause before the last, give a changed offset and its accuracy`(_ error: SIMD3<Double>) throws
  {
    var drive = drive(error)
    let found = try #require(try result(&drive, laps: 16))
    #expect(found.replaced == stored)
    #expect(found.quality < 0.03 && found.quality < 0.7 * found.qualityBefore)
    let (before, after) = (headingError(drive, stored.magnetometerOffset), headingError(drive, found.offset))
    #expect(after < 0.5 * before, "\(before) became \(after) degrees")
    // An offset along an axis that was not observed stays about the same.
    #expect(abs((stored.magnetometerOffset + error - found.offset).z) < abs(error.z) + 2)
  }

  @Test func `successive refinements converge to the right offset`() throws {
    var drive = drive(SIMD3(-5, 8, 0))
    var calibration = stored
    for _ in 0..<3 {
      var refiner = try #require(MagneticOffsetRefiner(calibration))
      for degrees in 0..<360 * 16 {
        let field = drive.measure(Double(degrees) * .pi / 180)
        guard let found = refiner.add(field, time: 4 * Double(degrees)) else { continue }
        calibration.magnetometerOffset = found.offset
        break
      }
    }
    let error = headingError(drive, calibration.magnetometerOffset)
    #expect(error < 6, "\(error) degrees")
  }

  @Test func `a good calibration stays unchanged, however long the drive`() throws {
    var there = drive()
    #expect(try result(&there, laps: 30) == nil)
    // At another place the field is stronger or weaker, and steeper or flatter.
    for field in [SIMD3(30.0, 2, 20), SIMD3(12, -3, 55), SIMD3(35, 0, -15)] {
      var elsewhere = drive()
      elsewhere.field = field
      #expect(try result(&elsewhere, laps: 30) == nil, "\(field)")
    }
  }

  @Test func `a small error is not corrected`() throws {
    var drive = drive(SIMD3(0.7, -0.5, 0))
    #expect(try result(&drive, laps: 30) == nil)
  }

  @Test func `a board that stands or only turns back and forth gives no refinement`() throws {
    for limit in [0, 60, 90] {
      var drive = drive(SIMD3(6, -6, 0))
      var refiner = try #require(MagneticOffsetRefiner(stored))
      for step in 0..<20_000 {
        // The heading swings between two limits.
        let degrees = limit == 0 ? 0 : abs(step % (2 * limit) - limit)
        let found = refiner.add(drive.measure(Double(degrees) * .pi / 180), time: Double(step) / 10)
        #expect(found == nil, "within \(limit) degrees")
        if found != nil { break }
      }
    }
  }

  @Test func `iron near the road or at a stop changes nothing`() throws {
    var passed = drive()
    #expect(try result(&passed, laps: 30) { $0 % 90 < 8 ? SIMD3(15, -10, 5) : .zero } == nil)
    // A truck is next to half of one lap. The laps before and after are undisturbed.
    var parked = drive()
    #expect(try result(&parked, laps: 30) { (720..<900).contains($0) ? SIMD3(10, 0, 0) : .zero } == nil)
  }

  @Test func `a car park's ramp with iron on one side all the way does not change the offset`() throws {
    var drive = drive()
    var refiner = try #require(MagneticOffsetRefiner(stored))
    for degrees in 0..<360 * 8 {
      let field = drive.measure(Double(degrees) * .pi / 180, nearby: SIMD3(0, -6, 0))
      #expect(refiner.add(field, time: Double(degrees) / 14) == nil)
    }
    // The roads around the car park do not confirm what the ramp showed.
    for degrees in 0..<360 * 10 {
      let field = drive.measure(Double(degrees) * .pi / 180)
      #expect(refiner.add(field, time: 1000 + 4 * Double(degrees)) == nil)
    }
  }

  @Test func `iron near the road does not prevent finding a changed offset`() throws {
    var drive = drive(SIMD3(-4, 7, 0))
    let found = try #require(try result(&drive, laps: 20) { $0 % 360 < 4 ? SIMD3(15, -10, 5) : .zero })
    #expect(headingError(drive, found.offset) < 0.5 * headingError(drive, stored.magnetometerOffset))
  }

  @Test func `a missing calibration or an invalid sample gives no refinement`() throws {
    #expect(MagneticOffsetRefiner(InertialCalibration()) == nil)
    var refiner = try #require(MagneticOffsetRefiner(stored))
    #expect(refiner.add(SIMD3(.nan, 0, 0), time: 0) == nil)
    #expect(refiner.add(SIMD3(1e9, 0, 0), time: 0) == nil)
    #expect(refiner.add(SIMD3(20, 0, 40), time: .infinity) == nil)
  }
}
