import CLinux
import Glibc

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

  /// Like `find`, but ignores this process. A user of a bus has the bus open whichever process uses an address on it.
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
