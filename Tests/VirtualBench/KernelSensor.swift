import HardwareIO

/// A sensor with a kernel driver, as reported by the kernel's sensor subsystem (IIO).
public final class KernelSensor {
  /// The folders in sysfs, one for each part of the chip.
  private let folders: [String]

  /// Binds a kernel driver to a chip.
  ///
  /// - Parameters:
  ///   - driver: the kernel's name of the chip, for example `bmp280`
  ///   - bus: the device, for example `/dev/i2c-0`
  ///   - needsInterrupt: whether the driver requires an interrupt line
  /// - Throws: if the driver does not recognize or accept the chip
  public init(driver: String, bus: String, address: UInt8, needsInterrupt: Bool = false) throws(HardwareError) {
    let number = String(bus.split(separator: "-").last ?? "")
    if needsInterrupt {
      try Files.write(
        "\(number) \(driver) \(String(address, radix: 16))", toDevice: "/sys/module/i2c_relay/parameters/client")
    } else {
      try Files.write("\(driver) \(address)", toDevice: "/sys/bus/i2c/devices/i2c-\(number)/new_device")
    }
    let digits = String(address, radix: 16)
    let device = "/sys/bus/i2c/devices/\(number)-\(String(repeating: "0", count: 4 - digits.count))\(digits)"
    folders = Files.names(in: device).filter { $0.hasPrefix("iio:device") }.map { "\(device)/\($0)" }
    guard !folders.isEmpty else { throw .unexpectedDevice("the kernel's \(driver) refuses the chip at \(device)") }
  }

  /// Combines the chips of one package, each with its own driver.
  public init(_ parts: [KernelSensor]) { folders = parts.flatMap(\.folders) }

  /// A value of one of the parts, for example `in_accel_x_raw`; `nil` if no part has it.
  public func number(_ name: String) -> Double? {
    for folder in folders {
      if let bytes = try? Files.bytes(of: "\(folder)/\(name)") {
        return Double(String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self))
      }
    }
    return nil
  }

  /// A vector in the chip's units, and the kernel's scale for one unit.
  ///
  /// - Parameter channel: for example `in_accel`
  public func vector(_ channel: String) -> (raw: SIMD3<Double>, scale: Double)? {
    var raw = SIMD3<Double>.zero
    for (index, axis) in ["x", "y", "z"].enumerated() {
      guard let number = number("\(channel)_\(axis)_raw") else { return nil }
      raw[index] = number
    }
    return (number("\(channel)_scale") ?? number("\(channel)_x_scale")).map { (raw, $0) }
  }

  /// A value in SI units, read directly or computed from the raw value.
  public func scalar(_ channel: String) -> Double? {
    if let input = number("\(channel)_input") { return input }
    guard let raw = number("\(channel)_raw"), let scale = number("\(channel)_scale") else { return nil }
    return (raw + (number("\(channel)_offset") ?? 0)) * scale
  }
}
