import HardwareIO

extension BarometerChip {
  static var ms5611: BarometerChip {
    BarometerChip(
      name: "ms5611", title: "MS5611", addresses: [0x77, 0x76],
      identity: ChipIdentity(register: MS5611Command.readPROM, toldBy: "its checksum") {
        (registers) throws(HardwareError) in
        try MS5611PROM(registers).isGenuine
      },
      provenAgainst: "Linux (ms5611)",
      // A sample takes at least three reads of the driver.
      looksPerSample: 3,
      // 0.3 mA is the current at 25 Hz, in proportion to 0.0125 mA at 1 Hz. 0.0001 mA is the current between
      // conversions.
      milliamperes: 0.3, sleepMilliamperes: 0.0001, ratesHz: 0.5...50,
      actualRate: { MS5611Rate(nearest: $0).hertz },
      makeDriver: { MS5611Driver($0, $1) },
      // The chip sleeps whenever it does not convert, and a reset ends a conversion.
      putToSleep: { (registers) throws(HardwareError) in try registers.send(MS5611Command.reset) })
  }
}
