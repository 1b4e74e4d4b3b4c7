import Glibc
import HardwareIO

/// A sensor that a driver of the kernel's has, as the kernel's subsystem for sensors (IIO) reports it.
public final class KernelSensor {
  /// In sysfs, one for each of the chip's parts.
  private let folders: [String]

  /// Has the kernel's driver take a chip.
  ///
  /// - Parameters:
  ///   - driver: what the kernel calls the chip: `bmp280`
  ///   - bus: `/dev/i2c-0`
  ///   - needsInterrupt: whether it refuses to work without an interrupt line
  /// - Throws: where the driver does not know the chip, or refuses it
  public init(driver: String, bus: String, address: UInt8, needsInterrupt: Bool = false) throws(HardwareError) {
    let number = String(bus.split(separator: "-").last ?? "")
    if needsInterrupt {
      try KernelSensor.write(
        "\(number) \(driver) \(String(address, radix: 16))", to: "/sys/module/i2c_relay/parameters/client")
    } else {
      try KernelSensor.write("\(driver) \(address)", to: "/sys/bus/i2c/devices/i2c-\(number)/new_device")
    }
    let digits = String(address, radix: 16)
    let device = "/sys/bus/i2c/devices/\(number)-\(String(repeating: "0", count: 4 - digits.count))\(digits)"
    folders = Files.names(in: device).filter { $0.hasPrefix("iio:device") }.map { "\(device)/\($0)" }
    guard !folders.isEmpty else { throw .unexpectedDevice("the kernel's \(driver) refuses the chip at \(device)") }
  }

  /// The chips of one package, each with a driver of its own, as one.
  public init(_ parts: [KernelSensor]) { folders = parts.flatMap(\.folders) }

  private static func write(_ text: String, to path: String) throws(HardwareError) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { throw .system("opening \(path)", errno: errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw .system("writing '\(text)' to \(path)", errno: errno)
    }
  }

  /// A number of one of the parts: `in_accel_x_raw`; `nil` where none has it.
  public func number(_ name: String) -> Double? {
    for folder in folders {
      if let bytes = try? Files.bytes(of: "\(folder)/\(name)") {
        return Double(String(decoding: bytes.filter { $0 > 0x20 }, as: UTF8.self))
      }
    }
    return nil
  }

  /// A vector in the chip's units, and what the kernel takes one unit for.
  ///
  /// - Parameter channel: `in_accel`
  public func vector(_ channel: String) -> (raw: SIMD3<Double>, scale: Double)? {
    var raw = SIMD3<Double>.zero
    for (index, axis) in ["x", "y", "z"].enumerated() {
      guard let number = number("\(channel)_\(axis)_raw") else { return nil }
      raw[index] = number
    }
    return (number("\(channel)_scale") ?? number("\(channel)_x_scale")).map { (raw, $0) }
  }

  /// A value in SI units, read whole or as a raw number.
  public func scalar(_ channel: String) -> Double? {
    if let input = number("\(channel)_input") { return input }
    guard let raw = number("\(channel)_raw"), let scale = number("\(channel)_scale") else { return nil }
    return (raw + (number("\(channel)_offset") ?? 0)) * scale
  }
}
