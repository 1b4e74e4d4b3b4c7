import HardwareIO

/// Provides the devices of a machine.
protocol DeviceSource: Sendable {
  /// The device that a description names.
  func device(_ description: DeviceDescription, on machine: Machine) -> BoardDevice
  /// The origin of a device: real, simulated or recorded.
  func origin(of description: DeviceDescription, on machine: Machine) -> DeviceStatus.Origin
  /// Whether the inputs of the fusion come from a recording, and not from the devices.
  var isPlayingInputs: Bool { get }
  /// Receives the hub's log, once, before any of its devices is used.
  func use(_ log: FusionLog)
}

/// Devices that are connected to the machine.
struct ConnectedDevices: DeviceSource {
  func device(_ description: DeviceDescription, on machine: Machine) -> BoardDevice {
    switch description {
    case .receiver(let receiver): .receiver(receiver, ReceiverReader(receiver, on: machine))
    case .imu(let imu): .imu(imu, IMUReader(imu, on: machine))
    case .magnetometer(let magnetometer):
      .magnetometer(
        magnetometer, MagnetometerReader(magnetometer, .magnetometer, title: "magnetometer", on: machine))
    case .barometer(let barometer):
      .barometer(barometer, BarometerReader(barometer, .barometer, title: "barometer", on: machine))
    case .supplyMonitor(let monitor):
      .supplyMonitor(monitor, SupplyMonitorReader(monitor, .supplyMonitor, title: "supply monitor", on: machine))
    }
  }

  func origin(of description: DeviceDescription, on machine: Machine) -> DeviceStatus.Origin {
    machine.hardware.isSimulated(description.path) ? .simulated : .real
  }

  var isPlayingInputs: Bool { false }

  func use(_ log: FusionLog) {}
}
