import HardwareIO

extension MagnetometerChip {
  static var qmc5883l: MagnetometerChip {
    MagnetometerChip(
      name: "qmc5883l", title: "QMC5883L", addresses: [0x0D],
      identity: ChipIdentity(register: QMC5883LRegister.chipID, values: [QMC5883LRegister.identity]),
      provenAgainst: "PX4, ArduPilot",
      // 0.15 mA is roughly the current at 50 Hz. 0.003 mA is the standby current.
      milliamperes: 0.15, sleepMilliamperes: 0.003, ratesHz: 10...200,
      actualRate: { QMC5883LRate(nearest: $0).hertz },
      makeDriver: { QMC5883LDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(QMC5883LRegister.standby, to: QMC5883LRegister.control1)
      })
  }
}
