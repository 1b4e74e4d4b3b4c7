import Hub
import Hummingbird

/// A client's choice of events.
enum EventRequest {
  case values(ViewRequest)
  /// Only the events of the fences. This request wakes no device.
  case fences

  /// The permitted parameters.
  static let words = ViewRequest.Values.names + ["only"]

  /// - Throws: if the query is invalid
  init(_ request: Request) throws {
    guard let only = try HTTPQuery.text("only", of: request) else {
      self = .values(try HTTPQuery.view(of: request))
      return
    }
    guard only == "fence" else {
      throw HTTPError(.badRequest, message: "'only' must be 'fence', for events without states")
    }
    for other in ViewRequest.Values.names where try HTTPQuery.text(Substring(other), of: request) != nil {
      throw HTTPError(.badRequest, message: "'only' requests no states, and cannot be combined with '\(other)'")
    }
    self = .fences
  }
}
