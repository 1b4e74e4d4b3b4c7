import SystemPackage

/// Where commands print for people.
enum Terminal {
  /// Prints a line to standard output; a reader that has gone away is no error.
  static func standardOutput(_ line: String) { write(line, to: .standardOutput) }

  /// Prints a line to standard error.
  static func standardError(_ line: String) { write(line, to: .standardError) }

  private static func write(_ line: String, to descriptor: FileDescriptor) {
    _ = try? descriptor.writeAll((line + "\n").utf8)
  }
}
