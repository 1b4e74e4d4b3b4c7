public typealias MagnetometerChip = Chip<any PolledDriver<MagnetometerSample>, PolledConfiguration>

extension MagnetometerChip {
  /// The commonest first, and the half of an LSM9DS1 before the LIS3MDL that it looks like.
  public static var all: [MagnetometerChip] {
    [.qmc5883l, .hmc5883l, .ak8963, .ak09916, .lsm9ds1Magnetometer, .lis3mdl, .lis2mdl, .qmc5883p]
  }
}
