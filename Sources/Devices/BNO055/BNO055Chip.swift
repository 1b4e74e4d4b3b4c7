import HardwareIO

extension InertialChip {
  static var bno055: InertialChip {
    InertialChip(
      name: "bno055", title: "BNO055", addresses: [0x28, 0x29],
      identity: ChipIdentity(register: BNO055Register.chipID, values: [BNO055Register.identity]),
      provenAgainst: "Linux (bno055)",
      // The chip has no FIFO and must be read for each sample.
      fifoSampleCount: 0, leastFIFOSampleCount: 1,
      readout: BusReadout(bytesPerSample: 0, bytesPerBurst: 12),
      // The currents are from table 0-2: all sensors at 100 Hz, and suspended.
      milliamperes: 12.3, sleepMilliamperes: 0.04, ratesHz: 25...100,
      actualRate: { BNO055Rate(nearest: $0).hertz },
      makeDriver: { BNO055Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in try BNO055Driver.suspend(registers) })
  }
}
