/// A chip that can be told by an identification register, for `sensorhub probe`. From the makers' data sheets.
struct KnownChip {
  var name: String
  var addresses: [UInt8]
  var register: UInt8
  var values: [UInt8]
  /// What a board file calls it, for the chips that the hub can read.
  var boardName: String?

  static let all = [
    KnownChip(name: "MPU-6050", addresses: [0x68, 0x69], register: 0x75, values: [0x68], boardName: "mpu-6050"),
    KnownChip(name: "MPU-6500", addresses: [0x68, 0x69], register: 0x75, values: [0x70], boardName: "mpu-6500"),
    KnownChip(
      name: "MPU-9250 or MPU-9255", addresses: [0x68, 0x69], register: 0x75, values: [0x71, 0x73], boardName: "mpu-9250"
    ),
    KnownChip(
      name: "a clone of the MPU-6500", addresses: [0x68, 0x69], register: 0x75, values: [0x72, 0x98],
      boardName: "mpu-6500"
    ),
    KnownChip(name: "ICM-20948", addresses: [0x68, 0x69], register: 0x00, values: [0xEA]),
    KnownChip(name: "ICM-42688-P", addresses: [0x68, 0x69], register: 0x75, values: [0x47]),
    KnownChip(name: "LSM6DS3", addresses: [0x6A, 0x6B], register: 0x0F, values: [0x69, 0x6A]),
    KnownChip(name: "LSM6DSOX", addresses: [0x6A, 0x6B], register: 0x0F, values: [0x6C]),
    KnownChip(name: "LSM9DS1", addresses: [0x6A, 0x6B], register: 0x0F, values: [0x68]),
    KnownChip(name: "BMI160", addresses: [0x68, 0x69], register: 0x00, values: [0xD1]),
    KnownChip(name: "BMI270", addresses: [0x68, 0x69], register: 0x00, values: [0x24]),
    KnownChip(name: "BNO055", addresses: [0x28, 0x29], register: 0x00, values: [0xA0]),
    KnownChip(name: "LIS3MDL", addresses: [0x1C, 0x1E], register: 0x0F, values: [0x3D]),
  ]
}
