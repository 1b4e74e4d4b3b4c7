/// A sensor that a kernel driver controls: a chip, or one part of a chip.
public struct IIODevice: Sendable {
  public let system: IIOSystem
  /// The number N in `iio:deviceN`. It may differ after each boot.
  public let number: Int
  /// The name that the driver gives, for example `mpu6050`.
  public let name: String
  /// The label in the device tree, if there is one.
  public let label: String?
  /// The path of the device's folder in sysfs.
  public let folder: String
  /// The path of the chip's own folder after following all links.
  public let parent: String?

  /// The chip's address on its I2C bus; `nil` if the chip is on another kind of bus.
  public var address: UInt8? {
    // The folder's name consists of bus and address, for example `1-006a`.
    guard let parent, let chip = parent.split(separator: "/").last else { return nil }
    let parts = chip.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, Int(parts[0]) != nil, parts[1].utf8.count == 4 else { return nil }
    return UInt16(parts[1], radix: 16).flatMap { UInt8(exactly: $0) }
  }

  /// The path of the device file that provides the scans.
  var node: String { "\(system.nodes)/iio:device\(number)" }

  func path(of file: String) -> String { "\(folder)/\(file)" }
}

extension IIODevice: CustomStringConvertible {
  /// A description such as `IIO device 'mpu6050' at 0x68`.
  public var description: String { "IIO device \(IIODeviceName(name, label: label, address: address))" }
}

extension IIODevice {
  /// Returns all IIO devices that the kernel has.
  public static func all(in system: IIOSystem) -> [IIODevice] {
    system.entries("iio:device").map { number, folder in
      IIODevice(
        system: system, number: number, name: (try? system.files.text("\(folder)/name")) ?? "",
        label: try? system.files.text("\(folder)/label"), folder: folder, parent: system.parent(of: folder))
    }
  }

  /// Returns the only device that matches.
  ///
  /// - Throws: if no device or more than one matches; the message lists the existing devices
  public static func find(_ wanted: IIODeviceName, in system: IIOSystem) throws(HardwareError) -> IIODevice {
    let all = IIODevice.all(in: system)
    let found = all.filter { $0.answers(to: wanted) }
    guard let device = found.first else {
      let others = all.isEmpty ? "the kernel has no IIO device" : "the kernel has \(list(all))"
      throw .notFound("IIO device \(wanted): \(others)")
    }
    guard found.count == 1 else {
      throw .unexpectedDevice("\(wanted) matches several devices, \(list(found)): choose one by its address or label")
    }
    return device
  }

  private func answers(to wanted: IIODeviceName) -> Bool {
    if wanted.name != name { return false }
    if let label = wanted.label, label != self.label { return false }
    if let address = wanted.address, address != self.address { return false }
    guard let parent = wanted.parent else { return true }
    return self.parent != nil && system.files.resolved(parent) == self.parent
  }

  private static func list(_ devices: [IIODevice]) -> String {
    devices.map { "\(IIODeviceName($0.name, label: $0.label, address: $0.address))" }.joined(separator: ", ")
  }
}
