import HardwareIO

/// One device of a board: what it is, how it is connected, and where it sits.
public enum DeviceDescription: Equatable, Sendable {
  case receiver(ReceiverDescription)
  case imu(IMUDescription)

  /// The name that the board file gives it.
  public var id: String {
    switch self {
    case .receiver(let receiver): receiver.id
    case .imu(let imu): imu.id
    }
  }

  /// Where it is connected: the receiver's tty, or the bus.
  public var path: String {
    switch self {
    case .receiver(let receiver): receiver.port
    case .imu(let imu): imu.bus
    }
  }

  public var power: Board.Power {
    switch self {
    case .receiver(let receiver): receiver.power
    case .imu(let imu): imu.power
    }
  }
}

extension DeviceDescription {
  private enum Driver: String, CaseIterable {
    case nmea
    case mpu6050 = "mpu-6050"
    case mpu6500 = "mpu-6500"
    case mpu9250 = "mpu-9250"
  }

  init(_ id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    guard DeviceDescription.isID(id) else {
      throw section.wrong(expected: "named with at most 24 letters, digits, '-' or '_', a letter first")
    }
    guard let driver = try section.choice("driver", of: Driver.self) else { throw section.missing("driver") }
    switch driver {
    case .nmea: self = .receiver(try ReceiverDescription(id, section))
    // The chips of the family are told apart by asking them; the name is for people.
    case .mpu6050, .mpu6500, .mpu9250: self = .imu(try IMUDescription(id, section))
    }
  }

  /// Stands in paths, labels and thread names without quotes.
  private static func isID(_ id: String) -> Bool {
    guard let first = id.utf8.first, id.utf8.count <= 24 else { return false }
    func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
    return isLetter(first)
      && id.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }
}
