import HardwareIO

extension BarometerChip {
  static var lps22hb: BarometerChip {
    BarometerChip(
      name: "lps22hb", title: "LPS22HB", addresses: [0x5C, 0x5D],
      identity: ChipIdentity(register: LPS22HBRegister.whoAmI, values: [LPS22HBRegister.identity]),
      provenAgainst: "Linux (st_press)",
      // 0.3 mA is the current at 25 Hz, in proportion to 0.012 mA at 1 Hz. 0.001 mA is the current when powered down.
      milliamperes: 0.3, sleepMilliamperes: 0.001, ratesHz: 1...75,
      actualRate: { LPS22HBRate(nearest: $0).hertz },
      makeDriver: { LPS22HBDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LPS22HBRegister.poweredDown, to: LPS22HBRegister.control1)
      })
  }
}
