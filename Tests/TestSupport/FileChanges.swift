import Glibc
import HardwareIO
import MonotonicTime

/// Waits for files that a program writes.
public enum FileChanges {
  /// Blocks until the files in some folders meet a condition, which is checked at once and again whenever a program has
  /// changed a file there. One of the folders may be created in another one of them in the meantime. The deadline
  /// delays only tests that fail.
  ///
  /// ```swift
  /// #expect(FileChanges.wait(in: folder) { Files.names(in: folder).contains("hooks.json") })
  /// ```
  ///
  /// - Returns: whether the condition held before the deadline
  public static func wait(
    in folders: String..., within limit: Duration = .seconds(180), until isMet: () throws -> Bool
  ) rethrows -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + limit
    let descriptor = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    precondition(descriptor >= 0, "cannot watch files: \(String(cString: strerror(errno)))")
    defer { close(descriptor) }
    var events = [UInt8](repeating: 0, count: 4096)
    let kinds = IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM
    while true {
      // A folder that is watched already is not watched twice.
      for folder in folders { _ = inotify_add_watch(descriptor, folder, UInt32(kinds)) }
      // The next check sees the changes that these events report.
      while read(descriptor, &events, events.count) > 0 {}
      if try isMet() { return true }
      let rest = deadline - clock.now
      guard rest > .zero else { return false }
      _ = Poller(stop: -1).wait(for: descriptor, atMost: rest)
    }
  }
}
