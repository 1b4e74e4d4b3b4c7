import HardwareIO

extension InertialChip {
  static var mpu6050: InertialChip {
    mpu("mpu-6050", "MPU-6050", [.mpu6050], milliamperes: 4)
  }

  static var mpu6500: InertialChip {
    mpu("mpu-6500", "MPU-6500 or a clone of it", [.mpu6500, .clone72, .clone98], milliamperes: 3.4)
  }

  static var mpu6515: InertialChip { mpu("mpu-6515", "MPU-6515 or MPU-6880", [.mpu6515, .mpu6880], milliamperes: 3.4) }

  static var mpu9250: InertialChip { mpu("mpu-9250", "MPU-9250", [.mpu9250], milliamperes: 3.7) }

  static var mpu9255: InertialChip { mpu("mpu-9255", "MPU-9255", [.mpu9255], milliamperes: 3.7) }

  static var icm20600: InertialChip { mpu("icm-20600", "ICM-20600", [.icm20600], milliamperes: 2.8) }

  static var icm20602: InertialChip { mpu("icm-20602", "ICM-20602", [.icm20602], milliamperes: 2.8) }

  static var icm20608: InertialChip { mpu("icm-20608", "ICM-20608", [.icm20608, .icm20608d], milliamperes: 3) }

  /// The entry of the ICM-20689. Nothing distinguishes it from a clone of the MPU-6500, so a search finds the MPU-6500
  /// first.
  static var icm20689: InertialChip { mpu("icm-20689", "ICM-20689", [.clone98], milliamperes: 3) }

  static var icm20690: InertialChip { mpu("icm-20690", "ICM-20690", [.icm20690], milliamperes: 2.8) }

  static var iam20680: InertialChip { mpu("iam-20680", "IAM-20680", [.iam20680], milliamperes: 3) }

  /// The entry of a chip of the family. The driver recognises the model at the start, whichever model the board file
  /// names.
  private static func mpu(
    _ name: String, _ title: String, _ models: [MPUModel], milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x68, 0x69],
      identity: ChipIdentity(register: MPURegister.whoAmI, values: models.map(\.rawValue)),
      relatives: MPUModel.allCases.map(\.rawValue),
      provenAgainst: "Linux (inv_mpu6050)", fifoSampleCount: models.map(\.fifoSampleCount).min() ?? 0,
      leastFIFOSampleCount: MPUModel.allCases.map(\.fifoSampleCount).min(),
      readout: BusReadout(bytesPerSample: models.map(\.frameLength).max() ?? 0),
      // The currents are from product specification 6.2: both sensors, and asleep.
      milliamperes: milliamperes, sleepMilliamperes: 0.005, ratesHz: 4...1000,
      actualRate: { MPUSettings(InertialConfiguration(rateHz: $0)).rateHz },
      makeDriver: { MPUDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(MPURegister.sleep, to: MPURegister.powerManagement1)
      })
  }
}

extension MPUModel {
  fileprivate var fifoSampleCount: Int { fifoSize / frameLength }
}
