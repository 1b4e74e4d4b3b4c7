import MonotonicTime

public typealias MagnetometerChip = Chip<any PolledDriver<MagnetometerSample>, PolledConfiguration>

extension MagnetometerChip {
  /// All magnetometers, the commonest first. The magnetic half of an LSM9DS1 comes before the LIS3MDL, and that of an
  /// LSM303DLHC before the HMC5883L, because the two have the same identity registers.
  public static var all: [MagnetometerChip] {
    [
      .qmc5883l, .lsm303dlhc, .hmc5883l, .ak8963, .ak09916, .lsm9ds1Magnetometer, .lis3mdl, .lis2mdl, .qmc5883p,
    ]
  }
}

/// One reading of a magnetometer, in the chip's own axes.
public struct MagnetometerSample: Equatable, Sendable {
  /// The weakest plausible field, microtesla. No field is weaker outside a magnetic shield, so a chip that states a
  /// weaker field is not measuring.
  static let weakest: Float = 0.5

  public var at: MonotonicInstant
  /// The magnetic flux density, microtesla. The earth's field is 22 to 67 microtesla.
  public var field: SIMD3<Float>

  public init(at: MonotonicInstant, field: SIMD3<Float>) {
    self.at = at
    self.field = field
  }

  /// A chip's measurement; `nil` if it is not plausible.
  init?(goodAt at: MonotonicInstant, field: SIMD3<Float>) {
    guard (field * field).sum() > MagnetometerSample.weakest * MagnetometerSample.weakest else { return nil }
    self.init(at: at, field: field)
  }
}
