import Glibc
import Guarding
import HardwareIO

/// A chip of the kernel's GPIO simulator. Programs open real lines, and the other end of each wire is in sysfs.
public final class GPIOSimulator: Sendable {
  public let label: String
  /// For example `/dev/gpiochip0`.
  public let path: String
  /// The descriptors of each line: its level, and its external drive.
  private let lines: [String: (value: Int32, pull: Int32)]

  /// - Parameters:
  ///   - label: the label of the chip, unique among the simulators
  ///   - lineNames: the names from offset 0
  public init(label: String, lineNames: [String]) throws(HardwareError) {
    self.label = label
    let configuration = "/sys/kernel/config/gpio-sim/\(label)"
    for folder in [configuration, "\(configuration)/bank0"] {
      guard mkdir(folder, 0o755) == 0 else { throw .system("making \(folder)", errno: errno) }
    }
    try Files.write("\(lineNames.count)", toDevice: "\(configuration)/bank0/num_lines")
    try Files.write(label, toDevice: "\(configuration)/bank0/label")
    for (offset, name) in lineNames.enumerated() {
      mkdir("\(configuration)/bank0/line\(offset)", 0o755)
      try Files.write(name, toDevice: "\(configuration)/bank0/line\(offset)/name")
    }
    try Files.write("1", toDevice: "\(configuration)/live")
    let device = GPIOSimulator.read("\(configuration)/dev_name")
    let chip = GPIOSimulator.read("\(configuration)/bank0/chip_name")
    path = "/dev/\(chip)"
    lines = Dictionary(
      uniqueKeysWithValues: lineNames.enumerated().map {
        let path = "/sys/devices/platform/\(device)/\(chip)/sim_gpio\($0)"
        return ($1, (open("\(path)/value", O_RDONLY | O_CLOEXEC), open("\(path)/pull", O_WRONLY | O_CLOEXEC)))
      })
  }

  /// The level that a meter at the line would show.
  public func level(_ line: String) -> Bool {
    var digit: UInt8 = 0
    return pread(lines[line]?.value ?? -1, &digit, 1, 0) == 1 && digit == UInt8(ascii: "1")
  }

  /// Drives an input externally.
  public func drive(_ line: String, _ level: Bool) {
    let text = Array((level ? "pull-up" : "pull-down").utf8)
    _ = pwrite(lines[line]?.pull ?? -1, text, text.count, 0)
  }

  deinit {
    for (value, pull) in lines.values {
      close(value)
      close(pull)
    }
  }

  private static func read(_ path: String) -> String {
    String(decoding: ((try? Files.bytes(of: path)) ?? []).filter { $0 > 0x20 }, as: UTF8.self)
  }
}
