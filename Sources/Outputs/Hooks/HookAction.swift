import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// The result of one attempt to deliver a notice.
enum HookOutcome: Equatable, Sendable {
  case taken
  /// The delivery is tried again.
  ///
  /// - isRefusal: whether a person must act: the server refused the notice, or curl or the token is missing. Then the
  ///   next attempt comes later
  case failed(String, isRefusal: Bool)
  /// The delivery is not tried again: it would fail in the same way, or the notice would be acted on twice.
  case givenUp(String)
  /// The hub is ending, and its next run delivers the notice; or the hook was removed.
  case stopped
}

extension HookSettings.Action {
  /// The exit status with which a program requests another attempt (EX_TEMPFAIL of sysexits.h).
  private static let tryAgain: Int32 = 75

  /// Delivers a notice. Waits for the program or the server.
  func deliver(_ notice: HookNotice, at link: FleetLink?, stop: StopSignal) -> HookOutcome {
    switch self {
    case .run(let words, let limit):
      let result = HookCommand(words: words, input: notice.json() + [UInt8(ascii: "\n")], limit: limit).run(stop: stop)
      return HookSettings.Action.outcome(result, words[0], limit)
    case .post(let webhook): return Curl(webhook).post(notice, stop: stop)
    case .publish(let topic):
      guard let link, link.connection.isConnected else {
        return .failed("the hub is not connected to its broker", isRefusal: false)
      }
      let receipt = link.connection.publishWithReceipt("\(link.topics.root)/\(topic)", notice.json())
      return switch receipt.wait(stop: stop) {
      case .accepted: .taken
      case .refused(let refusal): .failed(refusal.description, isRefusal: true)
      case .dropped: .failed("the message was dropped before the broker had it", isRefusal: false)
      case nil: .stopped
      }
    }
  }

  private static func outcome(_ result: HookCommand.Result, _ program: String, _ limit: Duration) -> HookOutcome {
    let said = result.output.split(separator: "\n").last.map { ": \(Text.printable(String($0)))" } ?? ""
    switch result.end {
    case .exited(0): return .taken
    case .exited(tryAgain): return .failed("\(program) asked to be run again (status 75)\(said)", isRefusal: false)
    case .exited(let status): return .givenUp("\(program) ended with status \(status)\(said)")
    case .killed(let signal): return .givenUp("\(program) was killed by signal \(signal)\(said)")
    case .late:
      return .givenUp("\(program) was killed: it ran longer than \(Text.duration(seconds: limit.inSeconds))\(said)")
    case .stopped: return .stopped
    case .notStarted(let error):
      let reason = "\(program) cannot be run: \(String(cString: strerror(error)))"
      // The system may have processes and memory again later, so the hook is tried again.
      if error == EAGAIN || error == ENOMEM { return .failed(reason, isRefusal: false) }
      let step =
        switch error {
        case EACCES, EPERM: "; make it executable for the hub's user: chmod 755 \(ShellText.word(program))"
        case ENOEXEC: "; begin the script with #!/bin/sh"
        case ENOENT: "; check its path, and the interpreter in its first line"
        default: ""
        }
      return .givenUp(reason + step)
    }
  }
}
