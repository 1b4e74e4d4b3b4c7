import CSystemd
import Glibc
import Hub

/// Puts the machine to sleep. The methods may take seconds.
public protocol BoardPower: Sendable {
  /// Why the machine cannot be put to sleep now; `nil` if it can.
  func refusal(of way: BoardSleepSettings.Way) -> ShutdownRefusal?
  /// Begins to put the machine to sleep.
  ///
  /// - Returns: why it stays awake; `nil` once its sleep or shutdown has begun
  func begin(_ way: BoardSleepSettings.Way) -> ShutdownRefusal?
  /// A user who is logged in; `nil` if there is none. Throws if that is unknown.
  func user() throws(ShutdownRefusal) -> String?
}

/// Asks logind, which refuses while a program forbids the sleep or the shutdown.
public struct LogindPower: BoardPower {
  public init() {}

  public func refusal(of way: BoardSleepSettings.Way) -> ShutdownRefusal? {
    ShutdownRefusal.from { csystemd_can_power(LogindPower.action(way), $0, $1) }
  }

  public func begin(_ way: BoardSleepSettings.Way) -> ShutdownRefusal? {
    ShutdownRefusal.from { csystemd_power(LogindPower.action(way), $0, $1) }
  }

  public func user() throws(ShutdownRefusal) -> String? {
    var name = [CChar](repeating: 0, count: 64)
    let result = csystemd_logged_in(&name, name.count)
    guard result >= 0 else { throw LogindPower.unknownUsers(errno: -result) }
    guard result == 1 else { return nil }
    return Text.printable(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  /// Why the machine stays awake if logind's sessions cannot be read.
  static func unknownUsers(errno: Int32) -> ShutdownRefusal {
    ShutdownRefusal(
      reason: "whether a user is logged in is unknown: \(String(cString: strerror(errno)))",
      nextStep: "loginctl must list the sessions, or leave 'users' out of 'sleep.keep'")
  }

  /// Whether a session of this class is a user's.
  static func isUser(sessionClass: String) -> Bool { csystemd_is_user_class(sessionClass) == 1 }

  private static func action(_ way: BoardSleepSettings.Way) -> Int32 {
    switch way {
    case .suspend: Int32(CSYSTEMD_SUSPEND)
    case .poweroff: Int32(CSYSTEMD_POWER_OFF)
    }
  }
}
