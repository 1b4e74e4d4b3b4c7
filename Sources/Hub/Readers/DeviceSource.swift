import Fusion
import HardwareIO
import Publishing

/// Provides the devices of a machine, and their fusion.
protocol DeviceSource: Sendable {
  /// The device that a description names.
  func device(_ description: DeviceDescription, on machine: Machine) -> BoardDevice
  /// The origin of a device: real, simulated or recorded.
  func origin(of description: DeviceDescription, on machine: Machine) -> DeviceStatus.Origin
  /// Passes the devices' measurements to the log of a hub while the returned publisher exists. The publisher sends
  /// states.
  func fill(
    _ log: FusionLog, from devices: [BoardDevice], _ receivers: ReceiverSelection, on machine: Machine
  ) -> LazyPublisher<FusedState, Never>
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

  func fill(
    _ log: FusionLog, from devices: [BoardDevice], _ receivers: ReceiverSelection, on machine: Machine
  ) -> LazyPublisher<FusedState, Never> { Aggregator(devices, receivers, into: log).states(clock: machine.clock) }
}
