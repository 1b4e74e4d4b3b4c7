import Devices
import Publishing

/// A device of a board with its reader, typed by what it measures.
enum BoardDevice: Sendable {
  case receiver(ReceiverDescription, ReceiverReader)
  case imu(IMUDescription, IMUReader)
  case magnetometer(MagnetometerDescription, MagnetometerReader)
  case barometer(BarometerDescription, BarometerReader)
  case supplyMonitor(SupplyMonitorDescription, SupplyMonitorReader)

  init(_ description: DeviceDescription, on machine: Machine) {
    if let replay = machine.replay {
      self.init(replaying: description, from: replay, on: machine)
      return
    }
    switch description {
    case .receiver(let receiver): self = .receiver(receiver, ReceiverReader(receiver, on: machine))
    case .imu(let imu): self = .imu(imu, IMUReader(imu, on: machine))
    case .magnetometer(let magnetometer):
      self = .magnetometer(
        magnetometer, MagnetometerReader(magnetometer, .magnetometer, title: "magnetometer", on: machine))
    case .barometer(let barometer):
      self = .barometer(barometer, BarometerReader(barometer, .barometer, title: "barometer", on: machine))
    case .supplyMonitor(let monitor):
      self = .supplyMonitor(
        monitor, SupplyMonitorReader(monitor, .supplyMonitor, title: "supply monitor", on: machine))
    }
  }

  private init(replaying description: DeviceDescription, from replay: ReplayFeed, on machine: Machine) {
    let id = description.id
    switch description {
    case .receiver(let receiver): self = .receiver(receiver, ReceiverReader(receiver, on: machine))
    case .imu(let imu):
      self = .imu(
        imu, IMUReader(replaying: description, .imu, from: replay.imu(id), on: machine, counting: { $0.count }))
    case .magnetometer(let magnetometer):
      self = .magnetometer(
        magnetometer,
        MagnetometerReader(replaying: description, .magnetometer, from: replay.magnetometer(id), on: machine))
    case .barometer(let barometer):
      self = .barometer(
        barometer, BarometerReader(replaying: description, .barometer, from: replay.barometer(id), on: machine))
    case .supplyMonitor(let monitor):
      self = .supplyMonitor(
        monitor,
        SupplyMonitorReader(replaying: description, .supplyMonitor, from: replay.supplyMonitor(id), on: machine))
    }
  }

  /// The device as another board file describes it, with the same reader; `nil` where that has to be another one.
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

  /// As of when its last sample was fused.
  var fusedInstant: FusedInstant {
    switch self {
    case .receiver(_, let reader): reader.device.fusedInstant
    case .imu(_, let reader): reader.fusedInstant
    case .magnetometer(_, let reader): reader.fusedInstant
    case .barometer(_, let reader): reader.fusedInstant
    case .supplyMonitor(_, let reader): reader.fusedInstant
    }
  }

  /// Seen without its samples.
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
