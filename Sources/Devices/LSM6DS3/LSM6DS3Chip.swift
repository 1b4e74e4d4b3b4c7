import HardwareIO

extension InertialChip {
  static var lsm6ds3trc: InertialChip {
    lsm6ds3Family(
      "lsm6ds3tr-c", "LSM6DS3TR-C or LSM6DSL", identity: LSM6DS3Register.lsm6ds3trc,
      // The FIFO has 4096 bytes, and a sample has 12.
      fifoSampleCount: 341, milliamperes: 0.9)
  }

  static var lsm6ds3: InertialChip {
    lsm6ds3Family(
      "lsm6ds3", "LSM6DS3", identity: LSM6DS3Register.lsm6ds3,
      // The FIFO has 8192 bytes, and a sample has 12.
      fifoSampleCount: 682, milliamperes: 1.25)
  }

  private static func lsm6ds3Family(
    _ name: String, _ title: String, identity: UInt8, fifoSampleCount: Int, milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x6A, 0x6B],
      identity: ChipIdentity(register: LSM6DS3Register.whoAmI, values: [identity]),
      relatives: LSM6DS3Driver.identities,
      provenAgainst: "Linux (st_lsm6dsx)", fifoSampleCount: fifoSampleCount, leastFIFOSampleCount: 341,
      readout: BusReadout(bytesPerSample: 12, bytesPerBurst: 4),
      // The currents are from the electrical characteristics: both sensors in high performance, and powered down.
      milliamperes: milliamperes, sleepMilliamperes: 0.006, ratesHz: 12.5...1666,
      actualRate: { LSM6Rate(nearest: $0).hertz },
      makeDriver: { LSM6DS3Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM6DS3Register.accelerometer)
        try registers.write(0, to: LSM6DS3Register.gyroscope)
      })
  }
}
