public typealias InertialChip = Chip<any InertialDriver, InertialConfiguration>

extension InertialChip {
  /// All inertial sensors, the commonest first.
  public static var all: [InertialChip] {
    [
      .mpu6050, .mpu6500, .mpu9250, .mpu9255, .icm20948, .bno085, .bno055, .lsm6dsox, .ism330dhcx, .lsm6ds3trc,
      .lsm6ds3, .icm42688, .icm42605,
      .lsm9ds1, .bmi160, .bmi088, .mpu6515,
      .icm20600, .icm20602, .icm20608, .icm20689, .icm20690, .iam20680,
    ]
  }
}
