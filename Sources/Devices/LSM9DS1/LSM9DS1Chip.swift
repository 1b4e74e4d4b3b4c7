import HardwareIO

extension InertialChip {
  /// The entry of the inertial half, the gyroscope and the accelerometer.
  static var lsm9ds1: InertialChip {
    InertialChip(
      name: "lsm9ds1", title: "LSM9DS1", addresses: [0x6B, 0x6A],
      identity: ChipIdentity(register: LSM9DS1Register.whoAmI, values: [LSM9DS1Register.identity]),
      provenAgainst: "Linux (st_lsm6dsx)", fifoSampleCount: LSM9DS1Driver.fifoSampleCount,
      // The output of each sensor takes a separate read.
      readout: BusReadout(bytesPerSample: 12, readsPerSample: 2, bytesPerBurst: 1, readsPerBurst: 1),
      // The currents are from the electrical characteristics: both sensors, and powered down.
      milliamperes: 4, sleepMilliamperes: 0.006, ratesHz: 14.9...952,
      actualRate: { LSM9DS1Rate(nearest: $0).hertz },
      makeDriver: { LSM9DS1Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM9DS1Register.gyroscope)
        try registers.write(0, to: LSM9DS1Register.accelerometer)
      })
  }
}

extension MagnetometerChip {
  /// The entry of the magnetic half, which looks like a LIS3MDL. Only the inertial half on the same bus shows that it
  /// belongs to an LSM9DS1.
  static var lsm9ds1Magnetometer: MagnetometerChip {
    MagnetometerChip(
      name: "lsm9ds1-mag", title: "LSM9DS1 magnetometer", addresses: [0x1E, 0x1C],
      identity: ChipIdentity(register: LIS3MDLRegister.whoAmI, toldBy: "the LSM9DS1 on the same bus") {
        (registers) throws(HardwareError) in
        guard try registers.read(LIS3MDLRegister.whoAmI) == LIS3MDLRegister.identity else { return false }
        return try LSM9DS1MagnetometerDriver.hasOtherHalf(on: registers.bus)
      },
      provenAgainst: "Linux (st_magn)",
      // The currents are those of a LIS3MDL: ultra-high performance at 20 Hz, and powered down.
      milliamperes: 0.27, sleepMilliamperes: 0.001, ratesHz: 0.625...80,
      actualRate: { LIS3MDLRate(nearest: $0).hertz },
      makeDriver: { LSM9DS1MagnetometerDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS3MDLRegister.poweredDown, to: LIS3MDLRegister.control3)
      })
  }
}
