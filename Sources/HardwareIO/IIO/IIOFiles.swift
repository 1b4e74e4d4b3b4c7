import Glibc

/// Access to the files that set up and read the kernel's sensor subsystem (IIO): text files in sysfs, folders in
/// configfs and one device file per sensor. Errors name the file.
public protocol IIOFiles: Sendable {
  /// Returns the names in a folder, or none if it cannot be read.
  func names(in folder: String) -> [String]
  /// Whether a file or folder exists at the path.
  func has(_ path: String) -> Bool
  /// Returns the target of a path after following all links, or `nil` if it does not exist.
  func resolved(_ path: String) -> String?
  /// Returns the text of a file without white space at its ends.
  func text(_ path: String) throws(HardwareError) -> String
  func write(_ text: String, to path: String) throws(HardwareError)
  /// Creates a folder. Throws `inUse` if it exists.
  func makeFolder(_ path: String) throws(HardwareError)
  func removeFolder(_ path: String) throws(HardwareError)
  /// Opens a device file for non-blocking reading. The caller must close the descriptor.
  func openDevice(_ path: String) throws(HardwareError) -> Int32
}

/// Uses the real files of the kernel.
public struct LinuxIIOFiles: IIOFiles {
  /// The size of a memory page, which no text in sysfs exceeds.
  private static let pageByteCount = 4096

  public init() {}

  public func names(in folder: String) -> [String] { Files.names(in: folder) }

  public func has(_ path: String) -> Bool { access(path, F_OK) == 0 }

  public func resolved(_ path: String) -> String? { Files.resolved(path) }

  public func text(_ path: String) throws(HardwareError) -> String {
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw LinuxIIOFiles.error("opening", path, errno) }
    defer { close(file) }
    let result: Result<String, HardwareError> = withUnsafeTemporaryAllocation(
      byteCount: LinuxIIOFiles.pageByteCount, alignment: 1
    ) { buffer in
      while true {
        let count = read(file, buffer.baseAddress, buffer.count)
        if count >= 0 { return .success(LinuxIIOFiles.trimmed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))) }
        let reason = errno
        if reason != EINTR { return .failure(LinuxIIOFiles.error("reading", path, reason)) }
      }
    }
    return try result.get()
  }

  public func write(_ text: String, to path: String) throws(HardwareError) {
    // The file is truncated first, as a shell would do. In sysfs truncation has no effect. In a regular file it removes
    // the rest of the old text.
    let file = Glibc.open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
    guard file >= 0 else { throw LinuxIIOFiles.error("opening", path, errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    while true {
      let count = Glibc.write(file, bytes, bytes.count)
      // The kernel accepts either the whole text or nothing.
      if count == bytes.count { return }
      let reason = count < 0 ? errno : EIO
      if reason != EINTR {
        throw LinuxIIOFiles.error("writing '\(text.prefix { $0 != "\n" })' to", path, reason)
      }
    }
  }

  public func makeFolder(_ path: String) throws(HardwareError) {
    guard mkdir(path, 0o755) == 0 else { throw LinuxIIOFiles.error("making", path, errno) }
  }

  public func removeFolder(_ path: String) throws(HardwareError) {
    guard rmdir(path) == 0 else { throw LinuxIIOFiles.error("removing", path, errno) }
  }

  public func openDevice(_ path: String) throws(HardwareError) -> Int32 {
    let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw LinuxIIOFiles.error("opening", path, errno) }
    return descriptor
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> String {
    var rest = bytes[...]
    while let last = rest.last, last <= 0x20 { rest = rest.dropLast() }
    while let first = rest.first, first <= 0x20 { rest = rest.dropFirst() }
    return String(decoding: rest, as: UTF8.self)
  }

  private static func error(_ doing: String, _ path: String, _ errno: Int32) -> HardwareError {
    switch errno {
    case ENOENT, ENOTDIR: .notFound(path)
    // The driver has been unbound, or its chip does not acknowledge.
    case ENODEV, ENXIO, EREMOTEIO, ESHUTDOWN: .disconnected(path)
    case EACCES, EPERM: .noPermission(path, group: "i2c")
    case EROFS:
      .unsupported("\(path) is not writable for this service; its unit needs ProtectKernelTunables=no")
    case EBUSY, EEXIST: .inUse(path, holder: nil)
    case ETIMEDOUT: .timedOut(path)
    default: .system("\(doing) \(path)", errno: errno)
    }
  }
}

/// Kernel settings that are changed temporarily. Reverting restores the previous values, the last change first.
public struct IIOChanges: Sendable {
  private struct Found {
    var path: String
    var text: String
  }

  private let files: any IIOFiles
  private var found: [Found] = []

  public init(_ files: any IIOFiles) { self.files = files }

  /// Writes a setting if its present value differs.
  public mutating func set(_ text: String, _ path: String) throws(HardwareError) {
    let before = try files.text(path)
    if before == text { return }
    try files.write(text, to: path)
    found.append(Found(path: path, text: before))
  }

  /// Restores the previous values. Errors are ignored, because they mean that the device is gone.
  public mutating func revert() {
    while let last = found.popLast() {
      // The previous value was empty. A newline is written for it, because the kernel ignores a write of no bytes.
      try? files.write(last.text.isEmpty ? "\n" : last.text, to: last.path)
    }
  }
}
