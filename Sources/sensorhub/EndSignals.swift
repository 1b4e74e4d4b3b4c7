import CLinux
import Glibc

/// The signals that end a command: Ctrl-C, SIGTERM and the loss of the terminal. With this type, the command can finish
/// its work first.
struct EndSignals {
  /// A descriptor that is readable when a signal has arrived.
  let descriptor: Int32
  /// Whether hang-ups are ignored, as under nohup.
  private let ignoresHangUps: Bool

  /// Takes over the signals, which then no longer end the process. Create only one value.
  init() throws(CommandError) {
    ignoresHangUps = clinux_is_ignored(SIGHUP)
    descriptor = clinux_hear_signals()
    guard descriptor >= 0 else {
      throw CommandError(.inputOutput, "cannot receive signals: \(String(cString: strerror(-descriptor)))")
    }
  }

  /// Takes the next signal; `nil` if there is none, or it is ignored.
  func next() -> Int32? {
    var byte: UInt8 = 0
    guard read(descriptor, &byte, 1) == 1 else { return nil }
    let number = Int32(byte & ~UInt8(CLINUX_FROM_KERNEL) & ~UInt8(CLINUX_FROM_SESSION_LEADER))
    return number == SIGHUP && ignoresHangUps ? nil : number
  }
}
