import Glibc
import SystemPackage

/// Where commands print for people.
enum Terminal {
  /// Prints a line to standard output; returns whether anybody still reads.
  @discardableResult
  static func standardOutput(_ line: String) -> Bool { write(line, to: .standardOutput) }

  /// Prints a line to standard error, if it takes one within two seconds: nobody may read it, and what has gone wrong must not
  /// keep a process from ending.
  static func standardError(_ line: String) {
    var wait = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&wait, 1, 2000) != 0 { _ = write(line, to: .standardError) }
  }

  private static func write(_ line: String, to descriptor: FileDescriptor) -> Bool {
    (try? descriptor.writeAll((line + "\n").utf8)) != nil
  }
}
