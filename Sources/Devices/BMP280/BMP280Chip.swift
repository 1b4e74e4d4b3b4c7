import HardwareIO

extension BarometerChip {
  static var bmp280: BarometerChip {
    bmp280Family("bmp280", "BMP280", identity: BMP280Register.bmp280, milliamperes: 0.3)
  }

  static var bme280: BarometerChip {
    bmp280Family("bme280", "BME280, with humidity", identity: BMP280Register.bme280, milliamperes: 0.35)
  }

  /// The entry of a BMP280 or BME280. The currents are from table 1 and section 3.8: while the chip measures half of
  /// the time, and while it sleeps.
  private static func bmp280Family(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double
  ) -> BarometerChip {
    BarometerChip(
      name: name, title: title, addresses: [0x76, 0x77],
      identity: ChipIdentity(register: BMP280Register.chipID, values: [identity]),
      relatives: BMP280Driver.identities,
      provenAgainst: "Linux (bmp280)",
      milliamperes: milliamperes, sleepMilliamperes: 0.0001, ratesHz: 0.5...70,
      actualRate: { BMP280Standby(nearest: $0).hertz },
      makeDriver: { BMP280Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMP280Register.sleepMode, to: BMP280Register.control)
      })
  }
}
