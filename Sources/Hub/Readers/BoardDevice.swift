import Devices
import Publishing

/// A device of a board and its reader, by the type of its measurements.
enum BoardDevice: Sendable {
  case receiver(ReceiverDescription, ReceiverReader)
  case imu(IMUDescription, IMUReader)
  case magnetometer(MagnetometerDescription, MagnetometerReader)
  case barometer(BarometerDescription, BarometerReader)
  case supplyMonitor(SupplyMonitorDescription, SupplyMonitorReader)

  /// The device with another board file's description and the same reader; `nil` if it needs another reader.
  func described(as description: DeviceDescription) -> BoardDevice? {
    switch (self, description) {
    case (.receiver(let old, let reader), .receiver(let new)) where old.isRead(like: new): .receiver(new, reader)
    case (.imu(let old, let reader), .imu(let new)) where old.isRead(like: new): .imu(new, reader)
    case (.magnetometer(let old, let reader), .magnetometer(let new)) where old.isRead(like: new):
      .magnetometer(new, reader)
    case (.barometer(let old, let reader), .barometer(let new)) where old.isRead(like: new): .barometer(new, reader)
    case (.supplyMonitor(let old, let reader), .supplyMonitor(let new)) where old.isRead(like: new):
      .supplyMonitor(new, reader)
    default: nil
    }
  }

  var description: DeviceDescription {
    switch self {
    case .receiver(let receiver, _): .receiver(receiver)
    case .imu(let imu, _): .imu(imu)
    case .magnetometer(let magnetometer, _): .magnetometer(magnetometer)
    case .barometer(let barometer, _): .barometer(barometer)
    case .supplyMonitor(let monitor, _): .supplyMonitor(monitor)
    }
  }

  /// The reader, without the type of its samples.
  var reader: any Device {
    switch self {
    case .receiver(_, let reader): reader.device
    case .imu(_, let reader): reader
    case .magnetometer(_, let reader): reader
    case .barometer(_, let reader): reader
    case .supplyMonitor(_, let reader): reader
    }
  }
}
