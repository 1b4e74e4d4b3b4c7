import HardwareIO

extension MagnetometerChip {
  static var lis3mdl: MagnetometerChip {
    MagnetometerChip(
      name: "lis3mdl", title: "LIS3MDL", addresses: [0x1C, 0x1E],
      identity: ChipIdentity(register: LIS3MDLRegister.whoAmI, values: [LIS3MDLRegister.identity]),
      provenAgainst: "Linux (st_magn)",
      // The currents are from table 3: ultra-high performance at 20 Hz, and powered down.
      milliamperes: 0.27, sleepMilliamperes: 0.001, ratesHz: 0.625...80,
      actualRate: { LIS3MDLRate(nearest: $0).hertz },
      makeDriver: { LIS3MDLDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS3MDLRegister.poweredDown, to: LIS3MDLRegister.control3)
      })
  }
}
