import HardwareIO

extension InertialChip {
  static var icm42688: InertialChip {
    icm42688Family(
      "icm-42688-p", "ICM-42688-P", identity: ICM42688Register.icm42688, milliamperes: 0.88)
  }

  static var icm42605: InertialChip {
    icm42688Family("icm-42605", "ICM-42605", identity: ICM42688Register.icm42605, milliamperes: 0.65)
  }

  private static func icm42688Family(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x68, 0x69],
      identity: ChipIdentity(register: ICM42688Register.whoAmI, values: [identity]),
      relatives: ICM42688Driver.identities,
      provenAgainst: "Linux (inv_icm42600)",
      // The FIFO has 2048 bytes, and a packet has 16.
      fifoSampleCount: 128, readout: BusReadout(bytesPerSample: 16, bytesPerBurst: 3),
      // The currents are from the D.C. electrical characteristics: both sensors in low noise mode, and asleep.
      milliamperes: milliamperes, sleepMilliamperes: 0.0075, ratesHz: 12.5...1000,
      actualRate: { ICM42688Rate(nearest: $0).hertz },
      makeDriver: { ICM42688Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(ICM42688Register.allOff, to: ICM42688Register.powerManagement)
      })
  }
}
