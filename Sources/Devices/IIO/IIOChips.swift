import HardwareIO

/// Entries like those of the catalogue, for sensors with a kernel driver. The catalogue does not list them, because
/// they cannot be searched for; a board file names them.
enum IIOChip {
  /// The name that a board file uses, and that distinguishes two entries.
  static func name(_ devices: [IIODeviceName]) -> String {
    "iio:" + devices.map { "\($0)" }.joined(separator: "+")
  }

  /// An identity without a register: no chip is put to sleep, or woken, without the kernel's driver.
  static let identity = ChipIdentity(register: 0, toldBy: "the kernel's driver", test: { _ in false })
  static let provenAgainst = "Linux (itself)"
}

extension InertialChip {
  /// - Parameter devices: one device with both sensors, or one for each
  public static func iio(_ devices: [IIODeviceName]) -> InertialChip {
    InertialChip(
      name: IIOChip.name(devices), title: "IMU of a kernel driver", addresses: [], identity: IIOChip.identity,
      provenAgainst: IIOChip.provenAgainst,
      // This is the number of samples that the kernel keeps.
      fifoSampleCount: 256, milliamperes: 0, sleepMilliamperes: 0, ratesHz: 1...1600,
      // The kernel driver decides the actual rate, which is near the requested one.
      actualRate: { $0 },
      makeDriver: { IIOInertialDriver(devices, $0, $1) }, putToSleep: { _ in })
  }
}

extension MagnetometerChip {
  public static func iio(_ device: IIODeviceName) -> MagnetometerChip {
    MagnetometerChip(
      name: IIOChip.name([device]), title: "magnetometer of a kernel driver", addresses: [], identity: IIOChip.identity,
      provenAgainst: IIOChip.provenAgainst, milliamperes: 0, sleepMilliamperes: 0, ratesHz: 0.5...200,
      actualRate: { $0 },
      makeDriver: { IIOMagnetometerDriver(device, $0, $1) }, putToSleep: { _ in })
  }
}

extension BarometerChip {
  public static func iio(_ device: IIODeviceName) -> BarometerChip {
    BarometerChip(
      name: IIOChip.name([device]), title: "barometer of a kernel driver", addresses: [], identity: IIOChip.identity,
      provenAgainst: IIOChip.provenAgainst, milliamperes: 0, sleepMilliamperes: 0, ratesHz: 0.1...50,
      actualRate: { $0 },
      makeDriver: { IIOBarometerDriver(device, $0, $1) }, putToSleep: { _ in })
  }
}
