import Glibc

/// Refines the stored hard-iron offset of a magnetometer from ordinary use, such as driving around.
///
/// The length of the corrected field must be the same in all directions of the board. If it is not, the offset is
/// wrong. Each time the field has gone around once (a lap), a sphere is fitted to it. A result needs two consecutive
/// laps that agree: the offset from each lap must explain the other lap better than the stored offset. After a pause, a
/// third lap must agree with them. Without the pause, all laps may be around one place, such as the ramp of a car park.
/// They would agree even if the stored offset is correct, because the same iron is on the same side. With these rules,
/// noise, iron near the road or the parking place, or a place with another field strength do not change the offset.
///
/// A vehicle turns only about the vertical, which shows nothing about the vertical part of the offset. That part stays
/// as stored: the fit begins at the stored offset, and moves it only as far as the measurements demand.
public struct MagneticOffsetRefiner: Sendable {
  /// A better offset, and how much better it fits.
  public struct Result: Equatable, Sendable {
    /// The calibration that the result refines, and that corrected the samples.
    public var replaced: InertialCalibration
    /// The offset in microtesla, in the chip's axes.
    public var offset: SIMD3<Double>
    /// The relative root mean square deviation of the corrected field's length, with the refined offset and with the
    /// stored one.
    public var quality: Double
    public var qualityBefore: Double
    /// The distance between the new and the old offset, microtesla.
    public var movedMicrotesla: Double
  }

  private struct Lap {
    /// The samples of the lap, without outliers.
    var samples: [SIMD3<Double>]
    var offset: SIMD3<Double>
    /// The time in seconds.
    var endedAt: Double
  }

  // Lengths are relative to the strength of the calibrated field.

  /// The distance below which samples count as one.
  private static let spacing = 0.06
  private static let capacity = 400
  private static let neededCount = 24
  /// The required spread of a lap in two directions; a circle of radius r has a spread of r² / 4.
  private static let neededSpread = 0.008
  /// The longest lap in seconds. During a longer one, the iron may have changed.
  private static let longestLap = 3600.0
  /// The shortest pause before the lap that confirms two others, in seconds.
  private static let leastPause = 600.0
  /// Two laps that agree are discarded after this number of later laps that contradict them. A single contradiction is
  /// not enough, because that lap may itself be wrong.
  private static let mostContradictions = 3
  /// The largest deviation of a sample's length from 1.
  private static let largestDeviation = 0.6
  /// The expected noise of a length, which includes the effect of soft iron.
  private static let noise = 0.02
  /// The expected error of the stored offset.
  private static let priorSigma = 0.06
  /// A sample whose length differs from the median by more than this number of standard deviations is an outlier.
  private static let outlierDeviations = 4.0
  /// The minimum of the limit for outliers, relative to the strength.
  private static let outlierLength = 0.03
  /// The share of samples that must not be outliers.
  private static let leastInlierShare = 0.7
  private static let refits = 5
  /// The ratio of the standard deviation to the median absolute deviation of normally distributed errors.
  private static let normalDeviation = 1.4826
  /// With the other lap's offset, the deviation of a lap must be at most this share of its deviation with the stored
  /// offset.
  private static let neededImprovement = 0.7
  /// The smallest change of the offset that is worth storing.
  private static let leastChange = 0.03
  private static let mostChange = 1.0
  /// How far the offsets of two laps may differ, relative to the strength or to the change.
  private static let agreement = (strength: 0.03, change: 0.25)
  private static let worstQuality = 0.08

  private let calibration: InertialCalibration
  private let strength: Double
  private let inverse: Matrix3
  /// The samples of the present lap, corrected with the stored calibration, relative to the strength.
  private var samples: [SIMD3<Double>] = []
  private var beganAt: Double?
  private var lastLap: Lap?
  /// The second of two laps that agree, until a later lap confirms them, and the number of later laps that have
  /// contradicted them.
  private var agreed: (lap: Lap, contradictionCount: Int)?

  /// - Parameter calibration: the stored calibration; the result is `nil` for a magnetometer that was never calibrated
  public init?(_ calibration: InertialCalibration) {
    let rows = calibration.magnetometerMatrix
    guard let strength = calibration.magnetometerStrength, strength > 0, rows.count == 3,
      let inverse = Matrix3(rows[0], rows[1], rows[2]).inverse
    else { return nil }
    self.calibration = calibration
    self.strength = strength
    self.inverse = inverse
  }

  /// Adds a measurement to the current lap.
  ///
  /// - Parameters:
  ///   - field: the raw field of the chip, microtesla
  ///   - time: the time in seconds
  /// - Returns: a better offset, once there is one; the refiner is then done
  public mutating func add(_ field: SIMD3<Double>, time: Double) -> Result? {
    guard field.isFinite, time.isFinite else { return nil }
    if let beganAt, time < beganAt || time - beganAt > MagneticOffsetRefiner.longestLap { beginLap() }
    let sample = calibration.magnetometer(field) / strength
    guard abs(sample.length - 1) < MagneticOffsetRefiner.largestDeviation else { return nil }
    let spacing = MagneticOffsetRefiner.spacing * MagneticOffsetRefiner.spacing
    for known in samples {
      let difference = known - sample
      if dot(difference, difference) < spacing { return nil }
    }
    beganAt = beganAt ?? time
    samples.append(sample)
    guard samples.count >= MagneticOffsetRefiner.neededCount, isAround else {
      if samples.count >= MagneticOffsetRefiner.capacity { beginLap() }
      return nil
    }
    return endLap(at: time)
  }

  private mutating func beginLap() {
    samples.removeAll(keepingCapacity: true)
    beganAt = nil
  }

  /// Whether the field has gone around. If it has, the samples spread in two directions, and so the sum of the
  /// principal minors of their covariance is large.
  private var isAround: Bool {
    let mean = samples.reduce(SIMD3.zero, +) / Double(samples.count)
    var (xx, yy, zz, xy, xz, yz) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for sample in samples {
      let d = sample - mean
      xx += d.x * d.x
      yy += d.y * d.y
      zz += d.z * d.z
      xy += d.x * d.y
      xz += d.x * d.z
      yz += d.y * d.z
    }
    let trace = xx + yy + zz
    let minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz
    return minors > MagneticOffsetRefiner.neededSpread * trace * Double(samples.count)
  }

  private mutating func endLap(at time: Double) -> Result? {
    let lapBeganAt = beganAt ?? time
    defer { beginLap() }
    guard let lap = fit(endedAt: time) else { return nil }
    defer { lastLap = lap }
    if let (known, contradictionCount) = agreed, known.endedAt <= lapBeganAt {
      guard lapBeganAt - known.endedAt >= MagneticOffsetRefiner.leastPause else { return nil }
      if let result = result(of: known, and: lap) { return result }
      agreed = (known, contradictionCount + 1)
      if contradictionCount + 1 < MagneticOffsetRefiner.mostContradictions { return nil }
    }
    agreed = nil
    if let lastLap, lastLap.endedAt <= lapBeganAt, result(of: lastLap, and: lap) != nil { agreed = (lap, 0) }
    return nil
  }

  private func result(of first: Lap, and second: Lap) -> Result? {
    let change = 0.5 * (first.offset + second.offset)
    let length = change.length
    let agreement = MagneticOffsetRefiner.agreement
    guard length >= MagneticOffsetRefiner.leastChange, length <= MagneticOffsetRefiner.mostChange,
      (first.offset - second.offset).length <= max(agreement.strength, agreement.change * length)
    else { return nil }
    // Each lap is judged by the offset of the other lap, which is independent of it.
    for (lap, other) in [(first, second), (second, first)] {
      let before = MagneticOffsetRefiner.deviation(lap.samples, .zero)
      let after = MagneticOffsetRefiner.deviation(lap.samples, other.offset)
      guard after <= MagneticOffsetRefiner.neededImprovement * before else { return nil }
    }
    let all = first.samples + second.samples
    let (quality, before) = (
      MagneticOffsetRefiner.deviation(all, change), MagneticOffsetRefiner.deviation(all, .zero)
    )
    guard quality < before, quality <= MagneticOffsetRefiner.worstQuality else { return nil }
    // The change applies to corrected samples. The inverse matrix converts it to the axes of the stored offset.
    let moved = inverse * (change * strength)
    return Result(
      replaced: calibration, offset: calibration.magnetometerOffset + moved, quality: quality, qualityBefore: before,
      movedMicrotesla: moved.length)
  }

  /// The relative root mean square deviation of the lengths from their mean.
  private static func deviation(_ samples: [SIMD3<Double>], _ offset: SIMD3<Double>) -> Double {
    let lengths = samples.map { ($0 - offset).length }
    let mean = lengths.reduce(0, +) / Double(lengths.count)
    let variance = lengths.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(lengths.count)
    return variance.squareRoot() / max(mean, 1e-9)
  }

  /// The lap with the centre of its sphere; `nil` if too few samples lie on a sphere.
  private func fit(endedAt time: Double) -> Lap? {
    var kept = samples
    var offset = SIMD3<Double>.zero
    for _ in 0..<MagneticOffsetRefiner.refits {
      guard let next = MagneticOffsetRefiner.centre(of: kept) else { return nil }
      offset = next
      let lengths = samples.map { ($0 - offset).length }
      let middle = MagneticOffsetRefiner.median(lengths)
      let usual = MagneticOffsetRefiner.median(lengths.map { abs($0 - middle) })
      let limit = max(
        MagneticOffsetRefiner.outlierDeviations * MagneticOffsetRefiner.normalDeviation * usual,
        MagneticOffsetRefiner.outlierLength)
      kept = zip(samples, lengths).filter { abs($0.1 - middle) <= limit }.map(\.0)
    }
    let enough = MagneticOffsetRefiner.leastInlierShare * Double(samples.count)
    return Double(kept.count) >= enough && offset.isFinite
      ? Lap(samples: kept, offset: offset, endedAt: time) : nil
  }

  /// The most probable centre: |s|² = 2 s·b + k is linear in b and k, and b is expected to be zero.
  private static func centre(of samples: [SIMD3<Double>]) -> SIMD3<Double>? {
    let count = Double(samples.count)
    let mean = samples.reduce(SIMD3.zero, +) / count
    let meanSquare = samples.reduce(0) { $0 + dot($1, $1) } / count
    var information = Matrix3(diagonal: SIMD3(repeating: 1 / (priorSigma * priorSigma)))
    var right = SIMD3<Double>.zero
    // The square of a length near 1 has twice the noise of the length.
    let weight = 1 / (4 * noise * noise)
    for sample in samples {
      let row = 2 * (sample - mean)
      information =
        information + Matrix3(weight * row.x * row, weight * row.y * row, weight * row.z * row)
      right += weight * (dot(sample, sample) - meanSquare) * row
    }
    return information.inverse.map { $0 * right }
  }

  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }
}
