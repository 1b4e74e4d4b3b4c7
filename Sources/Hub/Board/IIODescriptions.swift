import Devices
import HardwareIO

extension DeviceDescription {
  private enum IIOKind: String, CaseIterable {
    case imu
    case magnetometer
    case barometer
  }

  /// Reads a section whose driver is `iio`: a device with a kernel driver.
  init(iio id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    guard let kind = try section.choice("kind", of: IIOKind.self) else { throw section.missing("kind") }
    let names = try IIODeviceName.names(&section)
    guard kind == .imu || names.count == 1 else { throw section.wrong("names", expected: "one name") }
    switch kind {
    case .imu: self = .imu(try IMUDescription(id, .iio(names), section))
    case .magnetometer:
      self = .magnetometer(
        try MagnetometerDescription(id, .iio(names[0]), usualRateHz: 20, section) { (section) throws(BoardError) in
          try section.rotation("mount") ?? .identity
        })
    case .barometer:
      self = .barometer(try BarometerDescription(id, .iio(names[0]), usualRateHz: 5, section) { _ in .init() })
    }
    guard power.switch == .none else {
      throw section.wrong("power", expected: "without a switch: a kernel driver does not notice that its chip was off")
    }
  }
}

extension IIODeviceName {
  /// Reads `name`, or `names` with up to two; `label` and `address` distinguish devices of the same name.
  static func names(_ section: inout BoardSection) throws(BoardError) -> [IIODeviceName] {
    let key = section.has("names") ? "names" : "name"
    var names: [String] = []
    if key == "names" { names = try section.strings(key) ?? [] } else { names = [try section.required(key)] }
    // File names contain these names, so blanks and slashes are refused.
    let isName = { (name: String) in !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x2F } }
    guard (1...2).contains(names.count), Set(names).count == names.count, names.allSatisfy(isName) else {
      throw section.wrong(key, expected: "one or two of the names in /sys/bus/iio/devices/iio:device*/name")
    }
    let label = try section.string("label")
    let address = try section.integer("address", in: 0x08...0x77)
    var devices: [IIODeviceName] = []
    for name in names {
      devices.append(IIODeviceName(name, label: label, address: address.map { UInt8($0) }))
    }
    return devices
  }
}
