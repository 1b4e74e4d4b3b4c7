import CSystemd
import Glibc

/// Shuts the machine down.
public protocol BoardShutdown: Sendable {
  /// Shuts the machine down and switches it off. Waits for the answer.
  ///
  /// - Parameter isReal: whether the battery is real, and not simulated
  /// - Returns: why the machine stays on; `nil` if it shuts down
  func powerOff(isReal: Bool) -> ShutdownRefusal?
}

/// The reason why the machine was not shut down.
public struct ShutdownRefusal: Error, Equatable, CustomStringConvertible {
  public var reason: String
  /// The next step; `nil` if there is none.
  public var nextStep: String?

  public init(reason: String, nextStep: String? = nil) {
    self.reason = reason
    self.nextStep = nextStep
  }

  public var description: String { nextStep.map { "\(reason); \($0)" } ?? reason }
}

/// Asks logind, which refuses while a program forbids shutting down.
public struct LogindShutdown: BoardShutdown {
  public init() {}

  public func powerOff(isReal: Bool) -> ShutdownRefusal? {
    guard isReal else { return ShutdownRefusal(reason: "the supply monitor is simulated") }
    var refusal = [CChar](repeating: 0, count: 256)
    let result = csystemd_power_off(&refusal, refusal.count)
    guard result < 0 else { return nil }
    let text = String(decoding: refusal.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let reason = Text.printable(text)
    switch -result {
    case EBUSY: return ShutdownRefusal(reason: reason, nextStep: "systemd-inhibit --list shows all of them")
    case EACCES, EPERM:
      return ShutdownRefusal(
        reason: reason,
        nextStep:
          "let the hub's user shut the board down: 'battery' in the reference of board files has the polkit rule")
    case ENOENT, ECONNREFUSED:
      return ShutdownRefusal(reason: "there is no system bus: \(reason)", nextStep: "install dbus and systemd-logind")
    default: return ShutdownRefusal(reason: reason)
    }
  }
}
