import Hub
import Hummingbird

/// The parameters of a request. Each may appear once; numbers are in plain decimal notation.
enum HTTPQuery {
  static func number(_ name: Substring, of request: Request, in range: ClosedRange<Double>) throws -> Double? {
    guard let text = try text(name, of: request) else { return nil }
    guard let number = decimal(text), range.contains(number) else {
      throw HTTPError(
        .badRequest,
        message: "'\(name)' must be a number from \(short(range.lowerBound)) to \(short(range.upperBound))")
    }
    return number
  }

  /// The request for states that a query describes, for example `every=60&accuracy=10` or `parts=attitude,rates`.
  static func view(of request: Request) throws -> ViewRequest {
    var values = ViewRequest.Values()
    for key in ViewRequest.Key.allCases where key != .parts {
      values.numbers[key] = try number(Substring(key.rawValue), of: request, in: key.range)
    }
    // The rate has two names: `rateHz`, as on other ports, and `rate`, its former name on this path.
    if let rate = try number("rate", of: request, in: ViewRequest.ratesHz) {
      guard values.numbers.updateValue(rate, forKey: .rateHz) == nil else {
        throw HTTPError(.badRequest, message: "'rateHz' and 'rate' are the same: give one of them")
      }
    }
    values.parts = try text("parts", of: request)?.split(separator: ",", omittingEmptySubsequences: false).map(
      String.init)
    do throws(ViewRequest.Mistake) {
      return try ViewRequest(values)
    } catch {
      throw HTTPError(.badRequest, message: "\(error)")
    }
  }

  /// Refuses an unknown parameter. If it were ignored, a misspelled request for the IMU alone might wake all devices.
  static func require(_ known: [String], of request: Request) throws {
    for (name, _) in request.uri.queryParameters where !name.isEmpty && !known.contains(String(name)) {
      let guess = NearestWord.guess(String(name), among: known).map { "did you mean '\($0)'?" }
      let all = known.isEmpty ? "this path takes no parameters" : "valid ones are \(known.joined(separator: ", "))"
      throw HTTPError(
        .badRequest,
        message: "'\(Text.printable(String(name.prefix(40))))' is not a parameter of this path; \(guess ?? all)")
    }
  }

  static func text(_ name: Substring, of request: Request) throws -> Substring? {
    let values = request.uri.queryParameters[values: name]
    guard values.count <= 1 else {
      throw HTTPError(.badRequest, message: "'\(name)' is given \(values.count) times")
    }
    return values.first
  }

  /// Parses `12` or `0.5`: no sign, no exponent, no hexadecimal digits, no infinity.
  static func decimal(_ text: Substring) -> Double? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let isDecimal = parts.allSatisfy { part in !part.isEmpty && part.utf8.allSatisfy { digits.contains($0) } }
    guard isDecimal, text.utf8.count <= 20 else { return nil }
    return Double(text)
  }

  private static func short(_ value: Double) -> String {
    value == value.rounded() ? Text.fixed(value, 0) : Text.fixed(value, 2)
  }
}

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
