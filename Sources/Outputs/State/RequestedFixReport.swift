import FoundationEssentials
import Fusion
import Hub
import MonotonicTime

/// A scheduled fix as one JSON object: a state whose member `schedule` reports the outcome of the request.
public enum RequestedFixReport {
  /// The outcome of a request for a fix.
  public struct Outcome: Decodable, Sendable {
    /// Whether the fix is as accurate as requested; `false` if the time ran out first.
    public var met: Bool
    /// The radius around the true position that contains 95 % of fixes with this accuracy, in metres; `nil` without a
    /// position, or if the accuracy is unknown.
    public var radius: Double?
    /// The delay after the time at which the fix was due, in seconds.
    public var late: Double
    /// The viewer that requested the fix, if other viewers receive the same message.
    public var viewer: String?
    /// Whether the last fix is repeated, because the board has not moved since it was measured.
    public var still: Bool
    /// How long the receiver sleeps until it searches for a position again, in seconds, because there is no reception;
    /// `nil` if the search does not pause.
    public var pause: Double?
    /// The request as relaxed by the receivers' energy budgets; `nil` if it is not relaxed.
    public var relaxed: Terms?
  }

  /// The interval of a request in seconds, and its accuracy in metres; `nil` for any accuracy.
  public struct Terms: Decodable, Sendable {
    public var every: Double
    public var accuracy: Double?
  }

  /// Writes the state of a fix, with the outcome of the request in its member `schedule`.
  ///
  /// - Parameter viewer: the viewer that requested the fix, if other viewers receive the same message
  public static func write(_ fix: RequestedFix, for viewer: String? = nil, to json: inout JSONWriter) {
    StateReport.write(fix.state, to: &json) { json in
      json.key("schedule")
      json.beginObject()
      json.member("met", fix.isMet)
      json.member("still", fix.isStill)
      if fix.isKnown { json.member("known", true) }
      if fix.isReckoned { json.member("reckoned", true) }
      json.member("radius", fix.radiusMetres, decimals: 2)
      json.member("late", max(0, (fix.state.at - fix.due).inSeconds), decimals: 3)
      json.member("pause", fix.searchPausesUntil.map { ($0 - fix.state.at).inSeconds }, decimals: 3)
      json.member("every", fix.schedule.every.inSeconds, decimals: 3)
      json.member("accuracy", fix.schedule.accuracyMetres, decimals: 2)
      json.member("within", fix.schedule.within.inSeconds, decimals: 3)
      json.member("maxAge", fix.schedule.maxAge?.inSeconds, decimals: 3)
      if let degraded = fix.degraded {
        json.key("relaxed")
        json.beginObject()
        json.member("every", degraded.every.inSeconds, decimals: 3)
        json.member("accuracy", degraded.accuracyMetres, decimals: 2)
        json.endObject()
      }
      json.member("viewer", viewer)
      json.endObject()
    }
  }

  private struct Message: Decodable {
    var schedule: Outcome
  }

  /// Reads the outcome from the output of `write`; `nil` for anything else.
  public static func outcome(_ line: [UInt8]) -> Outcome? {
    try? JSONDecoder().decode(Message.self, from: Data(line)).schedule
  }
}
