import FoundationEssentials
import Fusion
import Hub
import MonotonicTime

/// A fix on a schedule as one JSON object: a state with what became of the wish in its member `schedule`.
public enum ScheduledFixReport {
  /// What became of it.
  public struct Outcome: Decodable, Sendable {
    /// It is as good as was asked for; else time ran out.
    public var met: Bool
    /// Within which 95 % of such positions are, metres; `nil` without a position, or if unknown.
    public var radius: Double?
    /// Seconds after its time.
    public var late: Double
    /// Whose wish it was, where others hear the same.
    public var viewer: String?
    /// Nothing has moved since its position was measured: the last one once more.
    public var still: Bool
    /// The form relaxed by the receivers' budgets; `nil` if it is not relaxed.
    public var relaxed: Wish?
  }

  /// Seconds and metres.
  public struct Wish: Decodable, Sendable {
    public var every: Double
    public var accuracy: Double?
  }

  /// - Parameter viewer: whose wish it is, where others hear the same
  public static func write(_ fix: ScheduledFix, for viewer: String? = nil, to json: inout JSONWriter) {
    StateReport.write(fix.state, to: &json) { json in
      json.key("schedule")
      json.beginObject()
      json.member("met", fix.isMet)
      json.member("still", fix.isStill)
      if fix.isKnown { json.member("known", true) }
      if fix.isReckoned { json.member("reckoned", true) }
      json.member("radius", fix.radiusMetres, decimals: 2)
      json.member("late", max(0, (fix.state.at - fix.due).inSeconds), decimals: 3)
      json.member("every", fix.schedule.every.inSeconds, decimals: 3)
      json.member("accuracy", fix.schedule.accuracyMetres, decimals: 2)
      json.member("within", fix.schedule.within.inSeconds, decimals: 3)
      json.member("maxAge", fix.schedule.maxAge?.inSeconds, decimals: 3)
      if let relaxed = fix.relaxed {
        json.key("relaxed")
        json.beginObject()
        json.member("every", relaxed.every.inSeconds, decimals: 3)
        json.member("accuracy", relaxed.accuracyMetres, decimals: 2)
        json.endObject()
      }
      json.member("viewer", viewer)
      json.endObject()
    }
  }

  private struct Message: Decodable {
    var schedule: Outcome
  }

  /// Reads the outcome of the request from the output of `write`; `nil` for anything else.
  public static func outcome(_ line: [UInt8]) -> Outcome? {
    try? JSONDecoder().decode(Message.self, from: Data(line)).schedule
  }
}
