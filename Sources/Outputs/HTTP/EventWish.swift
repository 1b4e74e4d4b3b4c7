import Hub
import Hummingbird

/// What somebody wants of the event stream.
enum EventWish {
  /// - `rateHz`: `nil` for the board's own rate
  case states(rateHz: Double?, parts: Set<StatePart>)

  /// - Throws: where the query says what nobody can want
  init(_ request: Request) throws {
    self = .states(
      rateHz: try HTTPQuery.number("rate", of: request, in: 0.01...1000), parts: try HTTPQuery.parts(of: request))
  }
}
