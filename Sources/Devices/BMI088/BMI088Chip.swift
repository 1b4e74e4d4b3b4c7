import HardwareIO

extension InertialChip {
  /// The entry lists the gyroscope's addresses. The driver searches for the accelerometer itself.
  static var bmi088: InertialChip {
    InertialChip(
      name: "bmi088", title: "BMI088", addresses: [0x68, 0x69],
      // The gyroscope's identity is not enough, because other packages contain the same gyroscope.
      identity: ChipIdentity(register: BMI088GyroscopeRegister.chipID, toldBy: "its gyroscope and accelerometer") {
        (registers) throws(HardwareError) in try BMI088Driver.isWhole(registers)
      },
      provenAgainst: "Linux (bmi088-accel, bmg160)",
      // This is the length of the gyroscope's FIFO. The accelerometer's FIFO is longer.
      fifoSampleCount: BMI088Driver.fifoSampleCount,
      // A sample has 6 bytes of the gyroscope, and at most 7 of the accelerometer, whose rate is not higher.
      readout: BusReadout(bytesPerSample: 13, bytesPerBurst: 3, readsPerBurst: 4),
      // The currents are from the electrical specifications: both sensors in normal mode, and suspended.
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
