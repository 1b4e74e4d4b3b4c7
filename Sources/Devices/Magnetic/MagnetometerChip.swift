public typealias MagnetometerChip = Chip<any PolledDriver<MagnetometerSample>, PolledConfiguration>

extension MagnetometerChip {
  /// All magnetometers, the commonest first. The magnetic half of an LSM9DS1 comes before the LIS3MDL, because the two
  /// have the same identity register.
  public static var all: [MagnetometerChip] {
    [.qmc5883l, .hmc5883l, .ak8963, .ak09916, .lsm9ds1Magnetometer, .lis3mdl, .lis2mdl, .qmc5883p]
  }
}
