import HardwareIO

extension InertialChip {
  /// The entry has the gyroscope's address, from which the accelerometer is found.
  static var bmi088: InertialChip {
    InertialChip(
      name: "bmi088", title: "BMI088", addresses: [0x68, 0x69],
      // Other packages contain the same gyroscope.
      identity: ChipIdentity(register: BMI088GyroscopeRegister.chipID, toldBy: "its two halves") {
        (registers) throws(HardwareError) in try BMI088Driver.isWhole(registers)
      },
      provenAgainst: "Linux (bmi088-accel, bmg160)",
      // This is the gyroscope's FIFO; the accelerometer's is longer.
      fifoSampleCount: BMI088Driver.fifoSampleCount,
      // A sample has 6 bytes of the gyroscope and 7 of the accelerometer, which is no faster.
      readout: BusReadout(bytesPerSample: 13, bytesPerBurst: 3, readsPerBurst: 4),
      // The values are from the electrical specifications: both sensors in normal mode, and suspended.
      milliamperes: 5.15, sleepMilliamperes: 0.028, ratesHz: 100...2000,
      actualRate: { BMI088Rate(nearest: $0).hertz },
      makeDriver: { BMI088Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMI088GyroscopeRegister.suspended, to: BMI088GyroscopeRegister.power)
        guard let other = try BMI088Accelerometer.find(beside: registers, capacity: 1) else { return }
        try other.bus.claim(other.address)
        try BMI088Accelerometer.sleep(other)
      })
  }
}
