/// The folders in which the kernel keeps its sensors and their triggers, and the access to their files.
public struct IIOSystem: Sendable {
  public let files: any IIOFiles
  /// The sysfs folder of all sensors and triggers.
  let devices: String
  /// The folder of the device files that provide scans.
  let nodes: String
  /// The configfs folder in which timer triggers are created and removed. The hub uses configfs for nothing else.
  let timers: String

  /// - Parameters:
  ///   - sysfs: the mount point of sysfs; `dev` and `configfs` are the other two mount points
  ///   - files: the operations on files, replaced in tests
  public init(
    sysfs: String = "/sys", dev: String = "/dev", configfs: String = "/sys/kernel/config",
    files: any IIOFiles = LinuxIIOFiles()
  ) {
    self.files = files
    devices = "\(sysfs)/bus/iio/devices"
    nodes = dev
    timers = "\(configfs)/iio/triggers/hrtimer"
  }

  /// A trigger, which causes the kernel to take scans.
  struct Trigger {
    var name: String
    var folder: String
  }

  /// The triggers that exist now.
  var triggers: [Trigger] {
    entries("trigger").compactMap { entry in
      (try? files.text("\(entry.folder)/name")).map { Trigger(name: $0, folder: entry.folder) }
    }
  }

  /// Returns the entries whose name is a prefix and a number, the lowest number first.
  func entries(_ prefix: String) -> [(number: Int, folder: String)] {
    var entries: [(number: Int, folder: String)] = []
    for name in files.names(in: devices) where name.hasPrefix(prefix) {
      if let number = Int(name.dropFirst(prefix.count)) { entries.append((number, "\(devices)/\(name)")) }
    }
    return entries.sorted { $0.number < $1.number }
  }

  /// Returns the folder that contains the target of a path, after following all links.
  func parent(of folder: String) -> String? {
    guard let path = files.resolved(folder), let slash = path.lastIndex(of: "/") else { return nil }
    return String(path[..<slash])
  }
}

/// The bus of a chip that a kernel driver controls. Only that driver communicates with the chip, so each transaction
/// throws.
public struct IIOBus: I2CBus {
  /// The prefix of the names of such buses in board files.
  public static let prefix = "iio/"

  public let name: String
  public let system: IIOSystem

  public var maximumReadLength: Int { 32 }

  /// - Parameter name: `iio/` and any name, which messages show
  public init(_ name: String, system: IIOSystem = IIOSystem()) {
    self.name = name
    self.system = system
  }

  public func transaction(
    _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
  ) throws(HardwareError) {
    throw .unsupported("the chip of \(name) has a kernel driver: only the driver may access it")
  }
}
