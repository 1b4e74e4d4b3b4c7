import HardwareIO

extension InertialChip {
  static var icm20948: InertialChip {
    InertialChip(
      name: "icm-20948", title: "ICM-20948", addresses: [0x69, 0x68],
      identity: ChipIdentity(register: ICM20948Register.whoAmI, values: [ICM20948Register.identity]),
      provenAgainst: "PX4, ICM20948_WE",
      fifoSampleCount: ICM20948Driver.fifoSampleCount, readout: BusReadout(bytesPerSample: 12),
      // The currents are from the D.C. electrical characteristics: both sensors without the magnetometer, and asleep.
      milliamperes: 3, sleepMilliamperes: 0.008, ratesHz: 4.4...1125,
      actualRate: { ICM20948Rate(nearest: $0).hertz },
      makeDriver: { ICM20948Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(ICM20948Register.sleep, to: ICM20948Register.powerManagement1)
      })
  }
}
