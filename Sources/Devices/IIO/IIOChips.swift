import HardwareIO

/// Chips like those of the catalogue, for sensors with a kernel driver. The catalogue does not list these chips,
/// because the hub cannot search for them on a bus. A board file names them.
enum IIOChip {
  /// The chip's name in messages. It lists the kernel's devices, because chips with the same name count as equal. In a
  /// board file, the driver of all these chips is `iio`.
  static func name(_ devices: [IIODeviceName]) -> String {
    "iio:" + devices.map { "\($0)" }.joined(separator: "+")
  }

  /// The identity of a chip that the kernel drives. The hub cannot read its identity register, and leaves sleeping and
  /// waking to the kernel's driver, so the test never passes.
  static let identity = ChipIdentity(register: 0, toldBy: "the kernel's driver", test: { _ in false })
  static let provenAgainst = "Linux (itself)"

  /// The error if the kernel cannot trigger the measurements of devices; `nil` if it can, or if the devices are missing.
  ///
  /// - Parameter quantities: the quantities that the hub takes from the scans, for example `in_magn`
  static func problem(
    of names: [IIODeviceName], _ quantities: [String], in system: IIOSystem
  ) -> HardwareError? {
    let devices = names.compactMap { try? IIODevice.find($0, in: system) }
    let isTimed = devices.contains { device in
      quantities.contains { device.scans("\($0)_x") } && device.needsTimer
    }
    return isTimed ? IIOTimerTrigger.problem(in: system) : nil
  }
}

extension InertialChip {
  /// - Parameter devices: one device with both sensors, or one for each
  public static func iio(_ devices: [IIODeviceName]) -> InertialChip {
    InertialChip(
      name: IIOChip.name(devices), title: "IMU of a kernel driver", addresses: [], identity: IIOChip.identity,
      provenAgainst: IIOChip.provenAgainst,
      // The number of samples that the kernel's buffer holds.
      fifoSampleCount: 256, milliamperes: 0, sleepMilliamperes: 0, ratesHz: 1...1600,
      // The kernel driver decides the actual rate, which is near the requested one.
      actualRate: { $0 },
      makeDriver: { IIOInertialDriver(devices, $0, $1) }, putToSleep: { _ in },
      findProblem: {
        IIOChip.problem(of: devices, [IIOInertialDriver.gyroscope, IIOInertialDriver.accelerometer], in: $0)
      })
  }
}

extension MagnetometerChip {
  public static func iio(_ device: IIODeviceName) -> MagnetometerChip {
    MagnetometerChip(
      name: IIOChip.name([device]), title: "magnetometer of a kernel driver", addresses: [], identity: IIOChip.identity,
      provenAgainst: IIOChip.provenAgainst, milliamperes: 0, sleepMilliamperes: 0, ratesHz: 0.5...200,
      actualRate: { $0 },
      makeDriver: { IIOMagnetometerDriver(device, $0, $1) }, putToSleep: { _ in },
      findProblem: { IIOChip.problem(of: [device], [IIOMagnetometerDriver.quantity], in: $0) })
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
