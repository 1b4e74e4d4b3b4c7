import HardwareIO

extension InertialChip {
  static var lsm6dsox: InertialChip {
    lsm6dsoxFamily(
      "lsm6dsox", "LSM6DSOX or LSM6DSO", identity: 0x6C, milliamperes: 0.55, asleep: 0.003, watching: 0.025)
  }

  static var ism330dhcx: InertialChip {
    lsm6dsoxFamily(
      "ism330dhcx", "ISM330DHCX or LSM6DSR", identity: 0x6B, milliamperes: 1.5, asleep: 0.005, watching: 0.035)
  }

  private static func lsm6dsoxFamily(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double, asleep sleepMilliamperes: Double,
    watching watchMilliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x6A, 0x6B],
      identity: ChipIdentity(register: LSM6DSOXRegister.whoAmI, values: [identity]),
      relatives: LSM6DSOXDriver.identities,
      provenAgainst: "Linux (st_lsm6dsx)",
      // The FIFO has 3072 bytes, and a sample has two words of 7 bytes.
      fifoSampleCount: 219, readout: BusReadout(bytesPerSample: 14),
      // The currents are from table 3: both sensors in high performance, and powered down.
      milliamperes: milliamperes, sleepMilliamperes: sleepMilliamperes, ratesHz: 12.5...1666,
      actualRate: { LSM6Rate(nearest: $0).hertz },
      makeDriver: { LSM6DSOXDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM6DSOXRegister.accelerometer)
        try registers.write(0, to: LSM6DSOXRegister.gyroscope)
      },
      // The current of the accelerometer alone in low-power mode. The data sheets state no value for 26 Hz. This value
      // is higher than the true current.
      wakeOnMotion: WakeOnMotion(milliamperes: watchMilliamperes) { LSM6DSOXMotionDriver($0) })
  }
}
