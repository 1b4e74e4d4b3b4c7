import HardwareIO

extension MagnetometerChip {
  static var qmc5883p: MagnetometerChip {
    MagnetometerChip(
      name: "qmc5883p", title: "QMC5883P", addresses: [0x2C],
      identity: ChipIdentity(register: QMC5883PRegister.chipID, values: [QMC5883PRegister.identity]),
      provenAgainst: "PX4, ArduPilot",
      // 0.15 mA is roughly the current at 50 Hz. 0.003 mA is the current when suspended.
      milliamperes: 0.15, sleepMilliamperes: 0.003, ratesHz: 10...200,
      actualRate: { QMC5883PRate(nearest: $0).hertz },
      makeDriver: { QMC5883PDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(QMC5883PRegister.suspended, to: QMC5883PRegister.control1)
      })
  }
}
