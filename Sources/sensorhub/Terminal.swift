import CLinux
import Glibc
import Guarding
import Outputs
import SystemPackage

/// The text output of commands, and whether it is still read.
enum Terminal {
  /// Whether the process has a controlling terminal that has not hung up.
  static var isControlling: Bool {
    let descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
  }

  /// Whether standard output is a terminal whose cursor can be moved.
  static var canBeDrawnOn: Bool {
    guard isatty(STDOUT_FILENO) == 1, let kind = getenv("TERM") else { return false }
    return strcmp(kind, "dumb") != 0 && kind.pointee != 0
  }

  /// Whether the program that reads standard output has ended, so that a waiting command can end.
  static var isReaderGone: Bool {
    var wait = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    return poll(&wait, 1, 0) > 0 && wait.revents & Int16(POLLERR | POLLNVAL) != 0
  }

  /// Opens /dev/null for standard streams that are closed; otherwise the next opened file would become one of them.
  /// Call this before anything is opened. Standard output is opened for reading only, so that each write fails as it
  /// would with the closed stream.
  static func replaceClosedStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      guard open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) == descriptor else { return }
    }
  }

  /// The first error in writing to standard output. A reading program that has ended is not an error.
  private static let failure = Guarded<Errno?>(nil)

  /// Prints one line, or several with line ends between them, to standard output. If this fails, `requireWritten()`
  /// reports the error when the command ends. Control characters are made visible, so that no text from elsewhere can
  /// move the terminal's cursor.
  ///
  /// - Returns: whether printing can continue
  @discardableResult
  static func standardOutput(_ line: String) -> Bool { printed(Text.printableLines(line)) }

  /// Prints a line of JSON. JSON's own escapes replace invisible characters, which does not change its meaning.
  @discardableResult
  static func standardOutput(json line: String) -> Bool { printed(Text.printableJSON(line)) }

  /// Prints the contents of a file: unchanged to a file or pipe, and without cursor movements to a terminal.
  @discardableResult
  static func standardOutput(file text: String) -> Bool {
    isatty(STDOUT_FILENO) == 1 ? standardOutput(text) : printed(text)
  }

  /// Prints a text that moves the terminal's cursor on purpose.
  ///
  /// - Parameter drawing: the text; each part from elsewhere must have passed through `Text.printable`
  @discardableResult
  static func draw(_ drawing: String) -> Bool { printed(drawing) }

  private static func printed(_ text: String) -> Bool {
    do throws(Errno) {
      try write(text, to: .standardOutput)
      return true
    } catch {
      if error != .brokenPipe { failure.withLock { $0 = $0 ?? error } }
      return false
    }
  }

  /// Throws if some text could not be printed, for example because the disk is full.
  static func requireWritten() throws(CommandError) {
    guard let errno = failure.withLock({ $0 }) else { return }
    throw isNotWritten(errno)
  }

  /// The error for standard output that cannot be written, with the reason.
  static func isNotWritten(_ errno: Errno) -> CommandError {
    CommandError(
      .inputOutput, "standard output cannot be written: \(errno)",
      nextStep: "the output is incomplete: check the free space at its destination")
  }

  /// Prints a line to standard error, unless this takes more than two seconds. The line may have no reader, and an
  /// error message must not keep a process from ending. Control characters are made visible, as for `standardOutput`.
  static func standardError(_ line: String) {
    var wait = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&wait, 1, 2000) != 0 { try? write(Text.printableLines(line), to: .standardError) }
  }

  private static func write(_ line: String, to descriptor: FileDescriptor) throws(Errno) {
    do {
      _ = try descriptor.writeAll((line + "\n").utf8)
    } catch {
      throw error as? Errno ?? .ioError
    }
  }
}

struct TerminalSize: Equatable {
  var columns: Int
  var rows: Int

  /// The size of the terminal at standard output. 80 by 24 if the terminal reports no size, as on a serial line.
  static var ofStandardOutput: TerminalSize {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return TerminalSize(columns: 80, rows: 24)
    }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }
}
