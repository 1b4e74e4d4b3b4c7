import HardwareIO

extension MagnetometerChip {
  static var ak8963: MagnetometerChip {
    MagnetometerChip(
      name: "ak8963", title: "AK8963 of an MPU-9250", addresses: [0x0C],
      identity: ChipIdentity(
        register: AK8963Register.whoIAm,
        toldBy: "its maker number, without the number of a newer chip"
      ) {
        (registers) throws(HardwareError) in
        let bytes = try registers.read(AK8963Register.whoIAm, count: 2)
        return bytes[0] == AK8963Register.identity && !AK8963Register.youngerIdentities.contains(bytes[1])
      },
      provenAgainst: "Linux (ak8975)",
      // 3.5 mA is the current at 100 Hz, estimated from 0.28 mA at 8 Hz. 0.003 mA is the current when powered down.
      milliamperes: 3.5, sleepMilliamperes: 0.003, ratesHz: 8...100,
      actualRate: { AK8963Rate(nearest: $0).hertz },
      makeDriver: { AK8963Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(AK8963Register.poweredDown, to: AK8963Register.control1)
      })
  }
}
