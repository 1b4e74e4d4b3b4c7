import Glibc

/// The few things about files that neither the overlay nor swift-system do in one call.
public enum Files {
  /// The names in a folder, sorted, without `.` and `..`; none where it cannot be read.
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

  /// The whole of a file.
  ///
  /// - Parameter limit: more bytes than these are an error, EFBIG: a device or a log given by mistake has no end
  public static func bytes(of path: String, limit: Int = .max) throws(Errno) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Errno(errno) }
    defer { close(file) }
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

  /// Where a path leads, all links followed; `nil` where nothing is.
  public static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The name of a running program; `nil` where there is none, or /proc does not tell.
  public static func commandName(ofProcess pid: Int32) -> String? {
    guard let name = try? bytes(of: "/proc/\(pid)/comm"), name.count > 1 else { return nil }
    return String(decoding: name.dropLast(), as: UTF8.self)
  }

  /// An error number of the system's.
  public struct Errno: Error, CustomStringConvertible {
    public let rawValue: Int32

    init(_ rawValue: Int32) { self.rawValue = rawValue }

    public var description: String { String(cString: strerror(rawValue)) }
  }
}
