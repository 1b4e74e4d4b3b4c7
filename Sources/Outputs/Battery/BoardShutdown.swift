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
  /// Whether no answer came, so that the machine may still shut down.
  public var isUnanswered: Bool

  public init(reason: String, nextStep: String? = nil, isUnanswered: Bool = false) {
    self.reason = reason
    self.nextStep = nextStep
    self.isUnanswered = isUnanswered
  }

  public var description: String { nextStep.map { "\(reason); \($0)" } ?? reason }
}

/// Asks logind, which refuses while a program forbids shutting down.
public struct LogindShutdown: BoardShutdown {
  public init() {}

  public func powerOff(isReal: Bool) -> ShutdownRefusal? {
    guard isReal else { return ShutdownRefusal(reason: "the supply monitor is simulated") }
    return ShutdownRefusal.from { csystemd_power(Int32(CSYSTEMD_POWER_OFF), $0, $1) }
  }
}

extension ShutdownRefusal {
  /// Calls logind. Returns the reason and the next step if logind refuses; `nil` if it agrees.
  ///
  /// - Parameter call: takes a buffer for the reason and its size; returns a negative errno for a refusal
  static func from(_ call: (UnsafeMutablePointer<CChar>, Int) -> Int32) -> ShutdownRefusal? {
    var refusal = [CChar](repeating: 0, count: 256)
    let result = refusal.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.map { call($0, buffer.count) } ?? -EINVAL
    }
    guard result < 0 else { return nil }
    let text = String(decoding: refusal.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let reason = Text.printable(text)
    switch -result {
    case EBUSY: return ShutdownRefusal(reason: reason, nextStep: "systemd-inhibit --list shows all of them")
    case EACCES, EPERM:
      return ShutdownRefusal(
        reason: reason,
        nextStep: "install polkitd, and restart the service, which gives its user the right")
    case EOPNOTSUPP:
      return ShutdownRefusal(reason: reason, nextStep: "set 'sleep.board' to the other value, or leave 'sleep' out")
    case ENOENT, ECONNREFUSED:
      return ShutdownRefusal(reason: "there is no system bus: \(reason)", nextStep: "install dbus and systemd-logind")
    // The bus has no program of logind's name, and cannot start one.
    case EHOSTUNREACH, ENXIO:
      return ShutdownRefusal(
        reason: "logind does not run: \(reason)", nextStep: "systemctl status systemd-logind shows why")
    case ETIMEDOUT, ECONNRESET: return ShutdownRefusal(reason: "logind did not answer: \(reason)", isUnanswered: true)
    default: return ShutdownRefusal(reason: reason)
    }
  }
}
