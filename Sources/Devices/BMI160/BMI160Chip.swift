import HardwareIO

extension InertialChip {
  static var bmi160: InertialChip {
    InertialChip(
      name: "bmi160", title: "BMI160", addresses: [0x69, 0x68],
      identity: ChipIdentity(register: BMI160Register.chipID, values: [BMI160Register.identity]),
      provenAgainst: "Linux (bmi160)",
      // The FIFO has 1024 bytes, and a frame has 13.
      fifoSampleCount: 78, readout: BusReadout(bytesPerSample: 13),
      // The currents are from table 2: both sensors in normal mode, and suspended.
      milliamperes: 0.925, sleepMilliamperes: 0.003, ratesHz: 25...1600,
      actualRate: { BMI160Rate(nearest: $0).hertz },
      makeDriver: { BMI160Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMI160Register.accelerometerSuspend, to: BMI160Register.command)
        try registers.write(BMI160Register.gyroscopeSuspend, to: BMI160Register.command)
      })
  }
}
