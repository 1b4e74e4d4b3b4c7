import HardwareIO

extension SupplyMonitorChip {
  static var ina226: SupplyMonitorChip {
    SupplyMonitorChip(
      name: "ina226", title: "INA226", addresses: supplyMonitorAddresses,
      // The identity has two registers, and a read does not continue from one to the other.
      identity: ChipIdentity(register: INA226Register.manufacturer, toldBy: "its manufacturer and die numbers") {
        (registers) throws(HardwareError) in
        guard try registers.readWord(INA226Register.manufacturer) == INA226Register.texasInstruments else {
          return false
        }
        return try registers.readWord(INA226Register.die) & ~INA226Register.dieRevision == INA226Register.dieNumber
      },
      provenAgainst: "Linux (ina2xx-adc)",
      // The chip's clock may be 10 % faster than stated. Polling twice per sample reads each measurement before the
      // next one replaces it.
      looksPerSample: 2,
      // The currents are from section 5.5: typical, and powered down.
      milliamperes: 0.33, sleepMilliamperes: 0.0005, ratesHz: 0.4...58,
      actualRate: { INA226Rate(nearest: $0).hertz },
      makeDriver: { INA226Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.writeWord(INA226Register.poweredDown, to: INA226Register.configuration)
      })
  }
}
