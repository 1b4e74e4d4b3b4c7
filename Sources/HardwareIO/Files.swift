import CLinux
import Glibc

/// File operations that neither Swift's `Glibc` overlay nor swift-system offers as one call.
public enum Files {
  /// Returns the names in a folder, sorted, without `.` and `..`. Returns none if the folder cannot be read.
  public static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Reads a whole file.
  ///
  /// - Parameter limit: the largest size in bytes; a larger file throws EFBIG, because a device given by mistake may
  ///   have no end
  public static func bytes(of path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Errno(errno) }
    defer { close(file) }
    return try bytes(from: file, limit: limit)
  }

  /// Reads a whole regular file in a folder that other users may write to. Any other kind of file throws EINVAL,
  /// because reading a pipe, for example, would block. `status` is set to the status that the file had when it was
  /// opened.
  public static func bytes(
    ofRegular path: String, limit: Int = .max, status: inout stat
  ) throws(Errno) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw Errno(errno) }
    defer { close(file) }
    guard fstat(file, &status) == 0 else { throw Errno(errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Errno(EINVAL, "it is not a regular file") }
    return try bytes(from: file, limit: limit)
  }

  public static func bytes(ofRegular path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
    var status = stat()
    return try bytes(ofRegular: path, limit: limit, status: &status)
  }

  static func bytes(from file: Int32, limit: Int) throws(Errno) -> [UInt8] {
    let chunk = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    defer { chunk.deallocate() }
    var bytes: [UInt8] = []
    while true {
      let count = read(file, chunk.baseAddress, chunk.count)
      guard count >= 0 else { throw Errno(errno) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<count]))
      if bytes.count > limit { throw Errno(EFBIG) }
    }
  }

  /// Reads a whole file that this program keeps for itself. The folder and the file must belong to this user, root or
  /// the service, and neither may be a link of another user.
  public static func bytes(ofOwn path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
    let (folder, name) = try place(of: path)
    return try folder.bytes(of: name, limit: limit)
  }

  /// Writes a new file next to the old one and then replaces the old one. A complete file therefore exists at any
  /// instant.
  ///
  /// - Parameters:
  ///   - mode: the mode of the file, limited by the process's umask
  ///   - isForAll: whether every user may read the file, whatever the umask
  public static func replace(
    _ path: String, with bytes: [UInt8], mode: UInt32 = 0o644, isForAll: Bool = false
  ) throws(Errno) {
    let (folder, name) = try place(of: path)
    try folder.replace(name, with: bytes, mode: mode, isForAll: isForAll)
  }

  private static func place(of path: String) throws(Errno) -> (folder: Folder, name: String) {
    do throws(FolderError) {
      return try Folder.of(file: path, of: .trusted)
    } catch {
      throw error.isUntrusted ? Errno(error.errno, "\(error)") : Errno(error.errno)
    }
  }

  /// Returns the target of a path after following all links, or `nil` if it does not exist.
  public static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Returns the name of a running program, or `nil` if there is none or /proc hides it.
  public static func commandName(ofProcess pid: Int32) -> String? {
    guard let name = try? bytes(of: "/proc/\(pid)/comm"), name.count > 1 else { return nil }
    return String(decoding: name.dropLast(), as: UTF8.self)
  }

  /// An error number of the operating system.
  public struct Errno: Error, CustomStringConvertible {
    public static let noSuchFile = ENOENT

    public let rawValue: Int32

    private let reason: String?

    init(_ rawValue: Int32, _ reason: String? = nil) {
      self.rawValue = rawValue
      self.reason = reason
    }

    public var description: String { reason ?? String(cString: strerror(rawValue)) }
  }
}

/// Finds the process that has a file open, so that an error can name it.
public enum FileHolder {
  /// Returns a text such as `gpsd (pid 812)`, or `nil` if /proc does not show the process.
  ///
  /// - Parameter own: the caller's own descriptor of the file, which does not count
  public static func find(_ path: String, except own: Int32? = nil) -> String? {
    if let other = findOther(path) { return other }
    guard let wanted = Files.resolved(path) else { return nil }
    // If no other process has the file open, this process is checked.
    for descriptor in Files.names(in: "/proc/self/fd") where link("/proc/self/fd/\(descriptor)") == wanted {
      if Int32(descriptor) != own { return "this process" }
    }
    return nil
  }

  /// Like `find`, but ignores this process, which has the file open too. All users of a bus have the same file open,
  /// even if they use different addresses.
  static func findOther(_ path: String) -> String? {
    guard let wanted = Files.resolved(path) else { return nil }
    for pid in Files.names(in: "/proc").compactMap(Int32.init) where pid != getpid() {
      for descriptor in Files.names(in: "/proc/\(pid)/fd") where link("/proc/\(pid)/fd/\(descriptor)") == wanted {
        return "\(Files.commandName(ofProcess: pid) ?? "a process") (pid \(pid))"
      }
    }
    return nil
  }

  /// The command that shows the processes of all accounts that have a file open. The sandbox of the service hides other
  /// accounts' processes from the hub.
  static func command(_ path: String) -> String { "sudo fuser -v \(path)" }

  private static func link(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let count = readlink(path, base, buffer.count - 1)
      guard count > 0 else { return nil }
      base[count] = 0
      return String(cString: base)
    }
  }
}
