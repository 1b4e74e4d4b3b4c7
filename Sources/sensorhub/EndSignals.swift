import CLinux
import Glibc

/// Ctrl-C, SIGTERM and the end of a terminal, for a command that has something to bring to its end when one of them comes.
struct EndSignals {
  /// Readable when one has come.
  let descriptor: Int32
  /// With nohup.
  private let ignoresHangUps: Bool

  /// From here on they end nothing by themselves. To be made once.
  init() throws(CommandError) {
    ignoresHangUps = clinux_is_ignored(SIGHUP)
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot hear signals: \(String(cString: strerror(-descriptor)))")
    }
  }

  /// Takes the next signal; `nil` if there is none, or it does not count.
  func next() -> Int32? {
    var byte: UInt8 = 0
    guard read(descriptor, &byte, 1) == 1 else { return nil }
    let number = Int32(byte & ~UInt8(CLINUX_FROM_KERNEL) & ~UInt8(CLINUX_FROM_SESSION_LEADER))
    return number == SIGHUP && ignoresHangUps ? nil : number
  }
}
