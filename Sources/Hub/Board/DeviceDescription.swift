import Devices
import HardwareIO

/// A device of a board: its kind, its connection, its settings, its power and its mounting.
public enum DeviceDescription: Equatable, Sendable {
  case receiver(ReceiverDescription)
  case imu(IMUDescription)
  case magnetometer(MagnetometerDescription)
  case barometer(BarometerDescription)
  case supplyMonitor(SupplyMonitorDescription)

  /// The device's name in the board file.
  public var id: String {
    switch self {
    case .receiver(let receiver): receiver.id
    case .imu(let imu): imu.id
    case .magnetometer(let magnetometer): magnetometer.id
    case .barometer(let barometer): barometer.id
    case .supplyMonitor(let monitor): monitor.id
    }
  }

  public var kind: DeviceStatus.Kind {
    switch self {
    case .receiver: .receiver
    case .imu: .imu
    case .magnetometer: .magnetometer
    case .barometer: .barometer
    case .supplyMonitor: .supplyMonitor
    }
  }

  /// The device's bus and address; `nil` for a receiver that is not on a bus.
  public var place: I2CAddress? {
    switch self {
    case .receiver(let receiver):
      I2CPortName(receiver.port).map { I2CAddress(bus: $0.bus, address: $0.address) }
    case .imu(let imu): imu.place
    case .magnetometer(let magnetometer): magnetometer.place
    case .barometer(let barometer): barometer.place
    case .supplyMonitor(let monitor): monitor.place
    }
  }

  /// The path of the connection: the bus, or the receiver's tty.
  public var path: String {
    if let place { return place.bus }
    return if case .receiver(let receiver) = self { receiver.port } else { "" }
  }

  public var power: Board.Power {
    switch self {
    case .receiver(let receiver): receiver.power
    case .imu(let imu): imu.power
    case .magnetometer(let magnetometer): magnetometer.power
    case .barometer(let barometer): barometer.power
    case .supplyMonitor(let monitor): monitor.power
    }
  }

  /// The driver and the connection: `nmea /dev/ttyAMA0`, `mpu-6050 0x68 on /dev/i2c-1`.
  var identity: String {
    switch self {
    case .receiver(let receiver): "\(receiver.driver.rawValue) \(receiver.port)"
    case .imu(let imu): "\(imu.chip.name) \(imu.place)"
    case .magnetometer(let magnetometer): "\(magnetometer.chip.name) \(magnetometer.place)"
    case .barometer(let barometer): "\(barometer.chip.name) \(barometer.place)"
    case .supplyMonitor(let monitor): "\(monitor.chip.name) \(monitor.place)"
    }
  }

  /// The same device with other power settings.
  func powered(by power: Board.Power) -> DeviceDescription {
    switch self {
    case .receiver(var receiver):
      receiver.power = power
      return .receiver(receiver)
    case .imu(var imu):
      imu.power = power
      return .imu(imu)
    case .magnetometer(var magnetometer):
      magnetometer.power = power
      return .magnetometer(magnetometer)
    case .barometer(var barometer):
      barometer.power = power
      return .barometer(barometer)
    case .supplyMonitor(var monitor):
      monitor.power = power
      return .supplyMonitor(monitor)
    }
  }

  /// The chip's calibration; `nil` for a device that cannot be calibrated.
  public var calibration: ChipCalibration? {
    switch self {
    case .imu(let imu): imu.calibration
    case .magnetometer(let magnetometer): magnetometer.calibration
    case .receiver, .barometer, .supplyMonitor: nil
    }
  }

  /// The same device with this calibration.
  public func calibrated(_ calibration: ChipCalibration) -> DeviceDescription {
    switch self {
    case .imu(var imu):
      imu.calibration = calibration
      return .imu(imu)
    case .magnetometer(var magnetometer):
      magnetometer.calibration = calibration
      return .magnetometer(magnetometer)
    case .receiver, .barometer, .supplyMonitor: return self
    }
  }
}

extension DeviceDescription {
  init(_ id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    guard DeviceDescription.isID(id) else {
      throw section.wrong(expected: "named with \(DeviceDescription.idForm)")
    }
    let driver = try section.required("driver")
    if let driver = ReceiverDriver(rawValue: driver) {
      self = .receiver(try ReceiverDescription(id, driver, section))
    } else if driver == "iio" {
      self = try DeviceDescription(iio: id, section)
    } else if let chip = InertialChip.all.first(where: { $0.name == driver }) {
      self = .imu(try IMUDescription(id, chip, section))
    } else if let chip = MagnetometerChip.all.first(where: { $0.name == driver }) {
      self = .magnetometer(
        try MagnetometerDescription(id, chip, usualRateHz: 20, section) { (section) throws(BoardError) in
          try section.rotation("mount") ?? .identity
        })
    } else if let chip = BarometerChip.all.first(where: { $0.name == driver }) {
      self = .barometer(try BarometerDescription(id, chip, usualRateHz: 5, section) { _ in .init() })
    } else if let chip = SupplyMonitorChip.all.first(where: { $0.name == driver }) {
      self = .supplyMonitor(
        try SupplyMonitorDescription(id, chip, usualRateHz: 1.9, section) { (section) throws(BoardError) in
          // Most modules have a resistor that is marked `R100`.
          .init(
            shuntOhms: try section.number("shuntOhms", in: 0.0001...1000) ?? 0.1,
            lowVolts: try section.number("lowVolts", in: 0.1...100))
        })
    } else {
      let receivers = ReceiverDriver.allCases.map(\.rawValue)
      let known = receivers + CatalogueEntry.all.compactMap(\.driver?.name)
      let guess = DriverGuess.guess(driver, among: known).map { "; did you mean '\($0)'?" } ?? ""
      throw section.wrong(
        "driver",
        expected:
          "\(receivers.map { "'\($0)'" }.joined(separator: ", ")) for a receiver, 'iio' for a device of a kernel driver, or a chip that 'sensorhub chips' lists\(guess)"
      )
    }
  }

  /// The form of an id, for a message: what `isID` accepts.
  package static let idForm = "at most \(longestID) letters, digits, '-' or '_', beginning with a letter"
  private static let longestID = 24

  /// Whether a text can stand in paths, labels and thread names without quotes.
  public static func isID(_ id: String) -> Bool {
    guard let first = id.utf8.first, id.utf8.count <= longestID else { return false }
    func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
    return isLetter(first)
      && id.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }
}
