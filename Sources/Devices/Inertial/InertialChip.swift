public typealias InertialChip = Chip<any InertialDriver, InertialConfiguration>

extension InertialChip {
  /// The commonest first.
  public static var all: [InertialChip] { [.mpu6050, .mpu6500, .mpu9250, .lsm6dsox, .ism330dhcx, .bmi160] }
}
