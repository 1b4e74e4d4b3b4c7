/// Decides which reports of a session at a broker are logged, so that none is repeated.
struct FleetReports {
  private struct Refusal: Hashable {
    var topic: String
    var reason: MQTTRefusal.Reason
  }

  /// The maximum number of different refusals that are logged. The number of topics is unlimited, because viewers
  /// choose them.
  private static let mostRefusals = 32

  /// The last report about the connection that was logged.
  private var said: String?
  private var lostCount = 0
  /// The refusals of topics that were logged.
  private var refusals: Set<Refusal> = []
  /// Whether the broker has sent this hub's own health message back.
  private var hasHeardItself = false
  /// Whether another hub of the same name was logged.
  private var hasSaidTwin = false
  private var hasSaidLeftOut = false

  /// Whether a report about the connection differs from the last one.
  mutating func isNew(_ text: String) -> Bool {
    defer { said = text }
    return said != text
  }

  mutating func isNew(_ refusal: MQTTRefusal) -> Bool {
    refusals.count < FleetReports.mostRefusals
      && refusals.insert(Refusal(topic: refusal.topic, reason: refusal.reason)).inserted
  }

  /// Whether a health message shows for the first time that another hub has the same name. Each health message names
  /// the run of the hub that sent it.
  mutating func isNewTwin(_ instance: String, ofRun run: String) -> Bool {
    if instance == run { hasHeardItself = true }
    guard instance != run, hasHeardItself, !hasSaidTwin else { return false }
    hasSaidTwin = true
    return true
  }

  /// Whether this message is the first that was too large.
  mutating func isFirstLeftOut() -> Bool {
    defer { hasSaidLeftOut = true }
    return !hasSaidLeftOut
  }

  /// The number of values that were lost since the last report.
  mutating func newlyLost(of count: Int) -> Int {
    defer { lostCount = count }
    return count - lostCount
  }
}
