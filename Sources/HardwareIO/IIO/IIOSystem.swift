/// Where the kernel has its sensors and their triggers.
public struct IIOSystem: Sendable {
  public let files: any IIOFiles
  /// Of all sensors and triggers.
  let devices: String
  /// Of the devices from which sensors are read.
  let nodes: String
  /// Of the triggers that are timers, and only there to make some and to remove them.
  let timers: String

  /// - Parameters:
  ///   - sysfs: the mount point of sysfs; likewise the others
  ///   - files: the operations on files, for tests
  public init(
    sysfs: String = "/sys", dev: String = "/dev", configfs: String = "/sys/kernel/config",
    files: any IIOFiles = LinuxIIOFiles()
  ) {
    self.files = files
    devices = "\(sysfs)/bus/iio/devices"
    nodes = dev
    timers = "\(configfs)/iio/triggers/hrtimer"
  }

  /// A trigger, which makes the kernel take a scan.
  struct Trigger {
    var name: String
    var folder: String
  }

  /// All existing triggers.
  var triggers: [Trigger] {
    entries("trigger").compactMap { entry in
      (try? files.text("\(entry.folder)/name")).map { Trigger(name: $0, folder: entry.folder) }
    }
  }

  /// The entries with a prefix and a number, the lowest number first.
  func entries(_ prefix: String) -> [(number: Int, folder: String)] {
    var entries: [(number: Int, folder: String)] = []
    for name in files.names(in: devices) where name.hasPrefix(prefix) {
      if let number = Int(name.dropFirst(prefix.count)) { entries.append((number, "\(devices)/\(name)")) }
    }
    return entries.sorted { $0.number < $1.number }
  }

  /// The folder that holds the one at a path, all links followed.
  func parent(of folder: String) -> String? {
    guard let path = files.resolved(folder), let slash = path.lastIndex(of: "/") else { return nil }
    return String(path[..<slash])
  }
}
