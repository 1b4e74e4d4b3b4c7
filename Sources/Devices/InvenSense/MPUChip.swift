import HardwareIO

extension InertialChip {
  static var mpu6050: InertialChip {
    mpu("mpu-6050", "MPU-6050", identities: [0x68], fifoSampleCount: 85, milliamperes: 4)
  }

  static var mpu6500: InertialChip {
    mpu(
      "mpu-6500", "MPU-6500 or a clone of it", identities: [0x70, 0x72, 0x98], fifoSampleCount: 42, milliamperes: 3.4)
  }

  static var mpu9250: InertialChip {
    mpu(
      "mpu-9250", "MPU-9250 or MPU-9255", identities: [0x71, 0x73], fifoSampleCount: 42, milliamperes: 3.7)
  }

  /// The chips of the family are told apart when they are started, whatever the board file calls them.
  private static func mpu(
    _ name: String, _ title: String, identities: [UInt8], fifoSampleCount: Int, milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x68, 0x69],
      identity: ChipIdentity(register: MPURegister.whoAmI, values: identities),
      relatives: MPUModel.allCases.map(\.rawValue), fifoSampleCount: fifoSampleCount,
      leastFIFOSampleCount: 42,
      // Product specification 6.2: both sensors, and asleep.
      milliamperes: milliamperes, sleepMilliamperes: 0.005, ratesHz: 4...1000,
      actualRate: { MPUSettings(InertialConfiguration(rateHz: $0)).rateHz },
      makeDriver: { MPUDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(MPURegister.sleep, to: MPURegister.powerManagement1)
      })
  }
}
