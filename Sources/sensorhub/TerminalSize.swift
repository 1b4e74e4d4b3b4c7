import CLinux
import Glibc

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
