/// The conditions by which a board file identifies one IIO device.
public struct IIODeviceName: Hashable, Sendable {
  /// The name that the driver gives, for example `lsm6dsox_gyro`.
  public var name: String
  /// The label in the device tree, needed if several devices have the same name.
  public var label: String?
  /// The chip's 7-bit address on its I2C bus, needed if several devices have the same name.
  public var address: UInt8?
  /// The chip's folder in sysfs, needed if several devices have the same name: `/sys/bus/i2c/devices/1-006a`.
  public var parent: String?

  public init(_ name: String, label: String? = nil, address: UInt8? = nil, parent: String? = nil) {
    self.name = name
    self.label = label
    self.address = address
    self.parent = parent
  }
}

extension IIODeviceName: CustomStringConvertible {
  /// A description such as `'mpu6050' at 0x68`.
  public var description: String {
    "'\(name)'" + (label.map { " labelled '\($0)'" } ?? "") + (address.map { " at 0x" + String($0, radix: 16) } ?? "")
      + (parent.map { " of \($0)" } ?? "")
  }
}
