import ArgumentParser
import MonotonicTime
import Outputs

/// An error on the command line: the problem, the next step, and the exit code of its kind.
struct CommandError: Error, CustomStringConvertible {
  /// The exit codes follow sysexits.h, so that scripts can distinguish errors. Wrong options exit with 64.
  enum Code: Int32 {
    /// A board file or other input is invalid.
    case data = 65
    /// A file or device does not exist.
    case noInput = 66
    /// The hub is not running, or a device does not answer.
    case unavailable = 69
    case inputOutput = 74
    case noPermission = 77
  }

  var code: Code
  var message: String
  var nextStep: String?

  init(_ code: Code, _ message: String, nextStep: String? = nil) {
    self.code = code
    self.message = message
    self.nextStep = nextStep
  }

  /// An update of the package restarts the hub, which is back a few seconds later.
  static let hubClosed = CommandError(
    .unavailable, "the hub closed the connection",
    nextStep: "run this again, because an update restarts the hub; if it fails again, read the hub's log")

  /// The error for a hub that accepted the connection, but did not answer within the limit.
  static func hubSilent(_ limit: Duration) -> CommandError {
    CommandError(
      .unavailable, "the hub has not answered within \(Text.duration(seconds: limit.inSeconds))",
      nextStep: "try again; if it stays silent, read the hub's log, and restart the hub")
  }

  var description: String {
    guard let nextStep else { return message }
    return "\(message)\n  next: \(nextStep)"
  }
}
