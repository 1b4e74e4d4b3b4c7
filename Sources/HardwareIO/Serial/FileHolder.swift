import CLinux
import Glibc

/// Finds out who has a file open, to name them in an error.
enum FileHolder {
  /// `gpsd (pid 812)`, or `nil` where /proc does not tell.
  static func find(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    let wanted = String(cString: resolved)
    for pid in entries("/proc") where pid.allSatisfy(\.isNumber) && Int32(pid) != getpid() {
      for descriptor in entries("/proc/\(pid)/fd") where link("/proc/\(pid)/fd/\(descriptor)") == wanted {
        return "\(name(pid)) (pid \(pid))"
      }
    }
    // This process itself, if nobody else.
    for descriptor in entries("/proc/self/fd") where link("/proc/self/fd/\(descriptor)") == wanted {
      return "this process"
    }
    return nil
  }

  private static func entries(_ path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  private static func link(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let count = readlink(path, base, buffer.count - 1)
      guard count > 0 else { return nil }
      base[count] = 0
      return String(cString: base)
    }
  }

  private static func name(_ pid: String) -> String {
    let file = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "a process" }
    defer { close(file) }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
      let count = read(file, buffer.baseAddress, buffer.count)
      return String(decoding: buffer.prefix(max(count - 1, 0)), as: UTF8.self)
    }
  }
}
