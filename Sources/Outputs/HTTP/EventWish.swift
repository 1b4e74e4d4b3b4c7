import Hub
import Hummingbird

/// What somebody wants of the event stream.
enum EventWish {
  /// - `rateHz`: `nil` for the board's own rate
  case states(rateHz: Double?, parts: Set<StatePart>)
  /// A fix now and then.
  case fixes(Schedule)
  /// What happens to the fences, and nothing else. Wakes nothing.
  case fences

  /// What may be asked.
  static let words = ["rateHz", "rate", "parts", "every", "accuracy", "within", "only"]

  /// - Throws: where the query says what nobody can want
  init(_ request: Request) throws {
    if let only = try HTTPQuery.text("only", of: request) {
      guard only == "fence" else {
        throw HTTPError(.badRequest, message: "'only' takes 'fence', the events that are there without the states")
      }
      for other: Substring in ["rateHz", "rate", "parts", "every", "accuracy", "within"]
      where try HTTPQuery.text(other, of: request) != nil {
        throw HTTPError(.badRequest, message: "'only' asks for no states, and goes without '\(other)'")
      }
      self = .fences
      return
    }
    let every = try HTTPQuery.number("every", of: request, in: Schedule.everySeconds)
    let accuracy = try HTTPQuery.number("accuracy", of: request, in: Schedule.accuracyMetres)
    let within = try HTTPQuery.number("within", of: request, in: Schedule.withinSeconds)
    guard let every else {
      guard accuracy == nil, within == nil else {
        throw HTTPError(.badRequest, message: "'accuracy' and 'within' go with 'every', the seconds between two fixes")
      }
      // One thing under two names: `rateHz` as elsewhere, and what this path has called it before.
      let rates = try ["rateHz", "rate"].compactMap { (name: Substring) throws in
        try HTTPQuery.number(name, of: request, in: 0.01...1000)
      }
      guard rates.count <= 1 else {
        throw HTTPError(.badRequest, message: "'rateHz' and 'rate' are the same: give one of them")
      }
      self = .states(rateHz: rates.first, parts: try HTTPQuery.parts(of: request))
      return
    }
    for other: Substring in ["rateHz", "rate", "parts"] where try HTTPQuery.text(other, of: request) != nil {
      throw HTTPError(.badRequest, message: "'every' asks for fixes, and goes without '\(other)'")
    }
    guard let schedule = Schedule(everySeconds: every, accuracyMetres: accuracy, withinSeconds: within) else {
      throw HTTPError(.badRequest, message: "'every', 'accuracy' and 'within' are seconds, metres and seconds")
    }
    self = .fixes(schedule)
  }
}
