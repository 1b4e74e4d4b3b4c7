import HardwareIO

extension BarometerChip {
  static var bmp388: BarometerChip { bmp390Family("bmp388", "BMP388", identity: BMP390Register.bmp388) }

  static var bmp390: BarometerChip { bmp390Family("bmp390", "BMP390", identity: BMP390Register.bmp390) }

  private static func bmp390Family(_ name: String, _ title: String, identity: UInt8) -> BarometerChip {
    BarometerChip(
      name: name, title: title, addresses: [0x77, 0x76],
      identity: ChipIdentity(register: BMP390Register.chipID, values: [identity]),
      relatives: BMP390Driver.identities,
      provenAgainst: "Linux (bmp380)",
      // The currents are for 25 Hz, when the chip measures half of the time, and for sleep.
      milliamperes: 0.35, sleepMilliamperes: 0.002, ratesHz: 0.78125...200,
      actualRate: { BMP390Rate(nearest: $0).hertz },
      makeDriver: { BMP390Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMP390Register.sleepMode, to: BMP390Register.powerControl)
      })
  }
}
