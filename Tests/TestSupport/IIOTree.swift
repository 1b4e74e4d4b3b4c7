import Glibc
import Guarding
import HardwareIO

/// The kernel's files for its sensors, as plain files in a folder with a pipe in place of each device. It keeps a
/// journal of the file operations, and can refuse chosen ones.
public final class IIOTree: IIOFiles {
  private struct State {
    var journal: [String] = []
    var refusals: [String: HardwareError] = [:]
    var hidesNewTriggers = false
  }

  private let folder = TemporaryFolder("iio")
  public var root: String { folder.path }
  private let linux = LinuxIIOFiles()
  private let state = Guarded(State())

  public init() {
    for folder in ["sys/bus/iio/devices", "dev", "config/iio/triggers/hrtimer"] { makeFolders(folder) }
  }

  public var system: IIOSystem {
    IIOSystem(sysfs: "\(root)/sys", dev: "\(root)/dev", configfs: "\(root)/config", files: self)
  }

  /// The bus for a driver that requires one.
  public var bus: IIOBus { IIOBus("iio/test", system: system) }

  /// All operations in order: `iio:device0/buffer/enable = 1`, `open dev/iio:device0`, `make` and `remove` of
  /// folders.
  public var journal: [String] { state.withLock { $0.journal } }

  public func forgetJournal() { state.withLock { $0.journal = [] } }

  /// Makes an operation of the journal fail from now on.
  public func refuse(_ entry: String, _ error: HardwareError) { state.withLock { $0.refusals[entry] = error } }

  public func refuseNothing() { state.withLock { $0.refusals = [:] } }

  /// Makes new timers appear only with `showTrigger`, because the kernel may take a while.
  public func hideNewTriggers() { state.withLock { $0.hidesNewTriggers = true } }
}

// The files and folders of the tree.
extension IIOTree {
  /// Writes a text and a line end to a path below the root.
  public func add(_ path: String, _ text: String) {
    makeFolders(path.split(separator: "/").dropLast().joined(separator: "/"))
    let file = open("\(root)/\(path)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    precondition(file >= 0, path)
    let bytes = Array("\(text)\n".utf8)
    _ = Glibc.write(file, bytes, bytes.count)
    close(file)
  }

  /// Adds a sensor by its number.
  ///
  /// - Parameters:
  ///   - chip: the chip's path below `sys/devices`, with its bus and address
  ///   - files: the contents of the sensor's files
  public func addDevice(
    _ number: Int, _ name: String, chip: String = "i2c-1/1-0068", _ files: [String: String] = [:]
  ) {
    let folder = "sys/devices/\(chip)/iio:device\(number)"
    for (file, text) in files { add("\(folder)/\(file)", text) }
    add("\(folder)/name", name)
    link("iio:device\(number)", to: folder)
  }

  /// Adds the files that a sensor needs to take scans. Returns the pipe through which the scans come.
  ///
  /// - Parameters:
  ///   - channels: the names and types in the order of their indexes; the time is added
  ///   - hasTriggers: whether the sensor waits for a trigger
  public func addScans(_ number: Int, _ channels: [(String, String)], hasTriggers: Bool = true) -> IIOPipe {
    let folder = "sys/bus/iio/devices/iio:device\(number)"
    let all = channels + [("in_timestamp", "le:s64/64>>0")]
    for (index, (name, type)) in all.enumerated() {
      add("\(folder)/scan_elements/\(name)_en", "0")
      add("\(folder)/scan_elements/\(name)_index", "\(index)")
      add("\(folder)/scan_elements/\(name)_type", type)
    }
    add("\(folder)/current_timestamp_clock", "realtime")
    add("\(folder)/buffer/enable", "0")
    add("\(folder)/buffer/length", "2")
    add("\(folder)/buffer/watermark", "1")
    if hasTriggers { add("\(folder)/trigger/current_trigger", "") }
    return IIOPipe("\(root)/dev/iio:device\(number)")
  }

  /// Adds a trigger: a chip's own, or a timer.
  ///
  /// - Parameter chip: the chip's path, as for a sensor; `nil` for a timer
  public func addTrigger(_ number: Int, _ name: String, chip: String? = "i2c-1/1-0068") {
    let folder = "sys/devices/\(chip ?? "timers")/trigger\(number)"
    add("\(folder)/name", name)
    if chip == nil { add("\(folder)/sampling_frequency", "100.000000") }
    link("trigger\(number)", to: folder)
  }

  /// Makes a created timer appear.
  public func showTrigger(_ name: String) {
    let numbers = names(in: "\(root)/sys/bus/iio/devices").compactMap {
      $0.hasPrefix("trigger") ? Int($0.dropFirst(7)) : nil
    }
    addTrigger((numbers.max() ?? -1) + 1, name, chip: nil)
  }

  /// Returns the contents of a file at a path below the sensors' folder.
  public func says(_ path: String) -> String? { try? linux.text("\(root)/sys/bus/iio/devices/\(path)") }

  /// Returns the contents of all files that a program can change, for comparisons.
  public func settings(_ number: Int) -> [String: String] {
    let device = "iio:device\(number)"
    var settings: [String: String] = [:]
    for folder in ["", "/buffer", "/scan_elements", "/trigger"] {
      for name in names(in: "\(root)/sys/bus/iio/devices/\(device)\(folder)") {
        if let text = says("\(device)\(folder)/\(name)") { settings["\(folder)/\(name)"] = text }
      }
    }
    return settings
  }

  /// The names of the existing timers.
  public var timers: [String] { names(in: "\(root)/config/iio/triggers/hrtimer") }

  /// How often this process has a sensor's device open, not counting the test's own pipe.
  public func readers(_ number: Int) -> Int {
    let node = linux.resolved("\(root)/dev/iio:device\(number)")
    return names(in: "/proc/self/fd").filter { linux.resolved("/proc/self/fd/\($0)") == node }.count - 1
  }

  public func removeTimers() { TemporaryFolder.remove("\(root)/config/iio/triggers/hrtimer") }

  private func link(_ name: String, to folder: String) {
    let below = folder.dropFirst("sys/".count)
    symlink("../../../\(below)", "\(root)/sys/bus/iio/devices/\(name)")
  }

  private func makeFolders(_ path: String) {
    var folder = root
    for part in path.split(separator: "/") {
      folder += "/\(part)"
      mkdir(folder, 0o755)
    }
  }

}

// The operations on the tree.
extension IIOTree {
  public func names(in folder: String) -> [String] { linux.names(in: folder) }

  public func has(_ path: String) -> Bool { linux.has(path) }

  public func resolved(_ path: String) -> String? { linux.resolved(path) }

  public func text(_ path: String) throws(HardwareError) -> String { try linux.text(path) }

  public func write(_ text: String, to path: String) throws(HardwareError) {
    try note("\(short(path)) = \(text.prefix { $0 != "\n" })")
    try linux.write(text, to: path)
  }

  public func makeFolder(_ path: String) throws(HardwareError) {
    try note("make \(short(path))")
    try linux.makeFolder(path)
    if state.withLock({ $0.hidesNewTriggers }) { return }
    showTrigger(String(path.split(separator: "/").last ?? ""))
  }

  public func removeFolder(_ path: String) throws(HardwareError) {
    try note("remove \(short(path))")
    try linux.removeFolder(path)
    let timer = String(path.split(separator: "/").last ?? "")
    for name in names(in: "\(root)/sys/bus/iio/devices") where says("\(name)/name") == timer {
      TemporaryFolder.remove("\(root)/sys/devices/timers/\(name)")
      TemporaryFolder.remove("\(root)/sys/bus/iio/devices/\(name)")
    }
  }

  public func openDevice(_ path: String) throws(HardwareError) -> Int32 {
    try note("open \(short(path))")
    return try linux.openDevice(path)
  }

  private func note(_ entry: String) throws(HardwareError) {
    let refusal = state.withLock { state -> HardwareError? in
      if state.refusals[entry] == nil { state.journal.append(entry) }
      return state.refusals[entry]
    }
    if let refusal { throw refusal }
  }

  private func short(_ path: String) -> String {
    for prefix in ["\(root)/sys/bus/iio/devices/", "\(root)/"] where path.hasPrefix(prefix) {
      return String(path.dropFirst(prefix.count))
    }
    return path
  }
}

/// A pipe in place of a sensor's device, to which the test writes the kernel's measurements.
public final class IIOPipe {
  private let descriptor: Int32

  init(_ path: String) {
    mkfifo(path, 0o644)
    // Both ends are open. Without a writer, a reader would see the end of the file.
    descriptor = open(path, O_RDWR | O_CLOEXEC)
    precondition(descriptor >= 0, path)
  }

  deinit { close(descriptor) }

  public func write(_ bytes: [UInt8]) { _ = Glibc.write(descriptor, bytes, bytes.count) }
}

/// Joins arrays of bytes.
public func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

extension FixedWidthInteger {
  /// The bytes with the least significant one first.
  public var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
  /// The bytes with the most significant one first.
  public var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
