import HardwareIO

extension MagnetometerChip {
  static var hmc5883l: MagnetometerChip {
    MagnetometerChip(
      name: "hmc5883l", title: "HMC5883L", addresses: [0x1E],
      identity: ChipIdentity(register: HMC5883LRegister.identificationA, sequences: [HMC5883LRegister.identity]),
      provenAgainst: "Linux (hmc5843)",
      // The currents are for 7.5 Hz without averaging, and idle.
      milliamperes: 0.1, sleepMilliamperes: 0.002, ratesHz: 0.75...75,
      actualRate: { HMC5883LRate(nearest: $0).hertz },
      makeDriver: { HMC5883LDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(HMC5883LRegister.idle, to: HMC5883LRegister.mode)
      })
  }
}
