import HardwareIO

extension MagnetometerChip {
  static var lis2mdl: MagnetometerChip {
    MagnetometerChip(
      name: "lis2mdl", title: "LIS2MDL", addresses: [0x1E],
      identity: ChipIdentity(register: LIS2MDLRegister.whoAmI, values: [LIS2MDLRegister.identity]),
      provenAgainst: "Linux (st_magn)",
      // The currents are for high resolution and 20 Hz with offset cancellation, and for idle.
      milliamperes: 0.235, sleepMilliamperes: 0.0015, ratesHz: 10...100,
      actualRate: { LIS2MDLRate(nearest: $0).hertz },
      makeDriver: { LIS2MDLDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS2MDLRegister.idle, to: LIS2MDLRegister.configurationA)
      })
  }
}
