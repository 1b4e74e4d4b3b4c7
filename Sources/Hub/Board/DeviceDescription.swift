import Devices
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
    get {
      switch self {
      case .receiver(let receiver): receiver.power
      case .imu(let imu): imu.power
      }
    }
    set {
      switch self {
      case .receiver(var receiver):
        receiver.power = newValue
        self = .receiver(receiver)
      case .imu(var imu):
        imu.power = newValue
        self = .imu(imu)
      }
    }
  }
}

extension DeviceDescription {
  init(_ id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    guard DeviceDescription.isID(id) else {
      throw section.wrong(expected: "named with at most 24 letters, digits, '-' or '_', a letter first")
    }
    let driver = try section.required("driver")
    if driver == "nmea" {
      self = .receiver(try ReceiverDescription(id, section))
    } else if let chip = InertialChip.all.first(where: { $0.name == driver }) {
      self = .imu(try IMUDescription(id, chip, section))
    } else {
      let known = ["nmea"] + InertialChip.all.map(\.name)
      throw section.wrong("driver", expected: "one of " + known.map { "'\($0)'" }.joined(separator: ", "))
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
