import HardwareIO

extension SupplyMonitorChip {
  static var ina219: SupplyMonitorChip {
    SupplyMonitorChip(
      name: "ina219", title: "INA219", addresses: supplyMonitorAddresses,
      identity: ChipIdentity(register: INA219Register.configuration, toldBy: "consistent values of its registers") {
        (registers) throws(HardwareError) in
        try INA219Identity.isTold(by: registers)
      },
      provenAgainst: "Linux (ina2xx-adc)",
      // The chip's clock may be 10 % faster than stated. Polling twice per sample reads each measurement before the
      // next one replaces it.
      looksPerSample: 2,
      // The currents are from section 7.5: typical, and powered down.
      milliamperes: 0.7, sleepMilliamperes: 0.006, ratesHz: 0.5...57,
      actualRate: { INA219Rate(nearest: $0).hertz },
      makeDriver: { INA219Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.writeWord(INA219Register.poweredDown, to: INA219Register.configuration)
      })
  }
}
