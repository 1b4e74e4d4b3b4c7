import MonotonicTime

/// One reading of a magnetometer, in the chip's own axes.
public struct MagnetometerSample: Equatable, Sendable {
  /// There is no weaker field outside of a shield, microtesla: a chip that says so is not measuring.
  static let weakest: Float = 0.5

  public var at: MonotonicInstant
  /// Magnetic flux density, microtesla; that of the earth is 22 to 67 long.
  public var field: SIMD3<Float>

  public init(at: MonotonicInstant, field: SIMD3<Float>) {
    self.at = at
    self.field = field
  }

  /// A measurement of a chip, or `nil` if it cannot be one.
  init?(goodAt at: MonotonicInstant, field: SIMD3<Float>) {
    guard (field * field).sum() > MagnetometerSample.weakest * MagnetometerSample.weakest else { return nil }
    self.init(at: at, field: field)
  }
}
