import HardwareIO

extension MagnetometerChip {
  static var ak09916: MagnetometerChip {
    MagnetometerChip(
      name: "ak09916", title: "AK09916 of an ICM-20948", addresses: [0x0C],
      identity: ChipIdentity(register: AK09916Register.whoIAm, sequences: [AK09916Register.identity]),
      provenAgainst: "Linux (ak8975)",
      // 0.22 mA is the current at 20 Hz: a fifth of the 1.1 mA at 100 Hz. 0.001 mA is the current when powered down.
      milliamperes: 0.22, sleepMilliamperes: 0.001, ratesHz: 10...100,
      actualRate: { AK09916Rate(nearest: $0).hertz },
      makeDriver: { AK09916Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(AK09916Register.poweredDown, to: AK09916Register.control2)
      })
  }
}
