import Glibc
import Guarding
import Hub
import MonotonicTime
import NMEA

/// Runs a program that tells a power manager when the board must have power again.
///
/// The program gets the time in its arguments, in place of `{wake}` (seconds since 1970) and `{seconds}` (from now).
/// It also gets the time as JSON on its standard input. It runs without a shell, as the hub's user, with the limits of
/// hooks.
struct WakeCommand: Sendable {
  static let limit = Duration.seconds(30)

  var words: [String]
  var way: BoardSleepSettings.Way
  /// The alarm, seconds since 1970; `nil` for a sleep without an end.
  var wake: Int64?
  /// The system clock, seconds since 1970.
  var now: Int64
  /// The holder of the fix for which the board will wake; `nil` if it wakes for no fix.
  var holder: String?

  /// The program and its arguments with the time in place of the templates, which become empty without an alarm.
  var arguments: [String] {
    let wakeText = wake.map { "\($0)" } ?? ""
    let secondsText = wake.map { "\($0 - now)" } ?? ""
    return [words[0]]
      + words.dropFirst().map { word in
        WakeCommand.replace("{seconds}", in: WakeCommand.replace("{wake}", in: word, by: wakeText), by: secondsText)
      }
  }

  private static func replace(_ template: String, in word: String, by text: String) -> String {
    word.split(separator: template, omittingEmptySubsequences: false).joined(separator: text)
  }

  /// The JSON for the program's standard input.
  var input: [UInt8] {
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    json.member("class", literal: "SLEEP")
    json.key("sleep")
    json.string(way.rawValue)
    if let wake {
      json.member("wakeTime", time: JSONTime(UTCTime(nanosecondsSince1970: wake * 1_000_000_000)))
      json.member("wake", Int(wake))
      json.member("seconds", Int(wake - now))
    }
    json.member("holder", holder.map { Text.printable($0) })
    json.endObject()
    json.endLine()
    return Array(json.bytes)
  }

  /// Runs the program and waits for it.
  ///
  /// - Parameter stop: ends the program if it is set
  /// - Returns: why the board would not wake; `nil` if the program succeeded
  func run(stop: StopSignal, isRoot: Bool = geteuid() == 0) -> String? {
    if isRoot {
      return "\(words[0]) does not run, because the hub runs as root, and a board file must not start programs as root"
    }
    let result = HookCommand(words: arguments, input: input, limit: WakeCommand.limit).run(stop: stop)
    let output = Text.printable(result.output.split(separator: "\n").last.map(String.init) ?? "")
    let detail = output.isEmpty ? "" : ": \(output)"
    switch result.end {
    case .exited(0): return nil
    case .exited(let code): return "\(words[0]) ended with status \(code)\(detail)"
    case .killed(let signal): return "\(words[0]) was killed by signal \(signal)\(detail)"
    case .late: return "\(words[0]) took longer than \(Int(WakeCommand.limit.inSeconds)) s\(detail)"
    case .stopped: return "\(words[0]) was stopped"
    case .notStarted(let error): return "\(words[0]) cannot be started: \(String(cString: strerror(error)))"
    }
  }
}
