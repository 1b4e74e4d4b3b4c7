import HardwareIO

extension InertialChip {
  /// The entry of the BNO085. A BNO080 and a BNO086 look the same on the bus, and the driver reads them in the same
  /// way.
  static var bno085: InertialChip {
    InertialChip(
      name: "bno085", title: "BNO085, BNO080 or BNO086", addresses: [0x4A, 0x4B],
      // Reading alone cannot recognise a chip without output, for example a chip that sleeps or has just been read.
      identity: ChipIdentity(register: 0, toldBy: "the headers of its packets") { (registers) throws(HardwareError) in
        try SHTPLink(registers.bus, address: registers.address).isSpoken()
      },
      provenAgainst: "SparkFun, Adafruit",
      fifoSampleCount: BNO085Driver.fifoSampleCount,
      dataReadyFalls: true,
      // A sample needs a report of each sensor. A burst needs the headers of the packets, and the command to send
      // them.
      readout: BusReadout(bytesPerSample: 26, bytesPerBurst: 60, readsPerBurst: 6),
      // The currents are from figure 6-17: the fusion of both sensors at 200 Hz, and idle.
      milliamperes: 12.8, sleepMilliamperes: 0.13, ratesHz: 50...400,
      actualRate: { BNO085Rate(nearest: $0).hertz },
      makeDriver: { BNO085Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try BNO085Driver.putToSleep(SHTPLink(registers.bus, address: registers.address))
      })
  }
}
