import HardwareIO

extension BarometerChip {
  static var dps310: BarometerChip {
    BarometerChip(
      name: "dps310", title: "DPS310", addresses: [0x77, 0x76],
      identity: ChipIdentity(register: DPS310Register.productID, values: [DPS310Register.identity]),
      provenAgainst: "Linux (dps310)",
      // The currents are for 16 Hz, when the chip measures half of the time, and for idle.
      milliamperes: 0.2, sleepMilliamperes: 0.0005, ratesHz: 1...128,
      actualRate: { DPS310Rate(nearest: $0).hertz },
      makeDriver: { DPS310Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(DPS310Register.idle, to: DPS310Register.measurement)
      })
  }
}
