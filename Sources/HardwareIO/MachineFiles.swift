import Glibc

/// The files that describe a machine: in /dev, /proc, /sys and /etc, or in the same folders below another one.
public struct MachineFiles: Sendable {
  /// The prefix of each path; empty for this machine itself.
  private let root: String

  public init(root: String = "") {
    // As it is found again in paths whose links were followed.
    self.root = root.isEmpty ? "" : Files.resolved(root) ?? root
  }

  /// Whether something is there; a link that leads nowhere is not.
  public func has(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

  public func names(in folder: String) -> [String] { Files.names(in: root + folder) }

  /// `nil` where it cannot be read.
  public func bytes(of path: String) -> [UInt8]? { try? Files.bytes(of: root + path, limit: 1 << 20) }

  /// The same as words, which the device tree separates with zeros.
  public func words(of path: String) -> [String] {
    (bytes(of: path) ?? []).split { $0 <= UInt8(ascii: " ") }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// The target of a path, with all links followed; `nil` if it does not exist.
  public func resolved(_ path: String) -> String? {
    guard let resolved = Files.resolved(root + path) else { return nil }
    return resolved.hasPrefix(root) ? String(resolved.dropFirst(root.count)) : resolved
  }

  /// The text of a link, whether its target exists or not.
  public func link(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let count = readlink(root + path, base, buffer.count)
      return count < 0 ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  public var isRaspberryPi: Bool { words(of: "/proc/device-tree/model").starts(with: ["Raspberry", "Pi"]) }

  /// Whether Raspberry Pi OS's tool for settings is there.
  public var hasRaspiConfig: Bool { has("/usr/bin/raspi-config") }
}
