/// Which of the kernel's sensors.
public struct IIODeviceName: Hashable, Sendable {
  /// As its driver calls it: `lsm6dsox_gyro`.
  public var name: String
  /// As the device tree calls it, where several have the same name.
  public var label: String?
  /// Of the chip on its I2C bus, 7 bits, likewise.
  public var address: UInt8?
  /// Of the chip in sysfs, likewise: `/sys/bus/i2c/devices/1-006a`.
  public var parent: String?

  public init(_ name: String, label: String? = nil, address: UInt8? = nil, parent: String? = nil) {
    self.name = name
    self.label = label
    self.address = address
    self.parent = parent
  }
}

extension IIODeviceName: CustomStringConvertible {
  /// `'mpu6050' at 0x68`
  public var description: String {
    "'\(name)'" + (label.map { " labelled '\($0)'" } ?? "") + (address.map { " at 0x" + String($0, radix: 16) } ?? "")
      + (parent.map { " of \($0)" } ?? "")
  }
}
