import SystemPackage

/// Where commands print for people.
enum Terminal {
  /// Prints a line to standard output; returns whether anybody still reads.
  @discardableResult
  static func standardOutput(_ line: String) -> Bool { write(line, to: .standardOutput) }

  /// Prints a line to standard error.
  static func standardError(_ line: String) { _ = write(line, to: .standardError) }

  private static func write(_ line: String, to descriptor: FileDescriptor) -> Bool {
    (try? descriptor.writeAll((line + "\n").utf8)) != nil
  }
}
