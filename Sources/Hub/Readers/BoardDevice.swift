import Publishing

/// A device of a board with its reader, typed by what it measures.
enum BoardDevice: Sendable {
  case receiver(ReceiverDescription, ReceiverReader)
  case imu(IMUDescription, IMUReader)

  init(_ description: DeviceDescription, on machine: Machine) {
    switch description {
    case .receiver(let receiver): self = .receiver(receiver, ReceiverReader(receiver, on: machine))
    case .imu(let imu): self = .imu(imu, IMUReader(imu, on: machine))
    }
  }

  /// The device as another board file describes it, with the same reader; `nil` where that has to be another one.
  func described(as description: DeviceDescription) -> BoardDevice? {
    switch (self, description) {
    case (.receiver(let old, let reader), .receiver(let new)) where old.isRead(like: new): .receiver(new, reader)
    case (.imu(let old, let reader), .imu(let new)) where old.isRead(like: new): .imu(new, reader)
    default: nil
    }
  }

  /// Seen without its samples.
  var reader: any Device {
    switch self {
    case .receiver(_, let reader): reader.device
    case .imu(_, let reader): reader
    }
  }
}
