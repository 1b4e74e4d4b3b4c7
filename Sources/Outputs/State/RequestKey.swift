import FoundationEssentials
import Hub
import MonotonicTime

/// A key in a client's request, known or unknown.
struct RequestKey: CodingKey {
  /// The request has an unknown key, and is refused. If the key were ignored, a client that wants only the IMU might
  /// wake all devices.
  struct Unknown: Error, CustomStringConvertible {
    var key: String
    var known: [String]

    var description: String {
      let guess = NearestWord.guess(key, among: known).map { "did you mean '\($0)'?" }
      return "'\(Text.printable(String(key.prefix(40))))' is not a key of this request; "
        + (guess ?? "valid ones are \(known.joined(separator: ", "))")
    }
  }

  /// The request has both names of one key.
  struct Ambiguous: Error, CustomStringConvertible {
    var description: String { "'rateHz' and 'rate' are the same: give one of them" }
  }

  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }

  /// Checks that a request has no unknown key.
  ///
  /// - Throws: `Unknown` for the alphabetically first key that is not among `known`
  static func require(_ known: [String], in decoder: any Decoder) throws {
    let keys = try decoder.container(keyedBy: RequestKey.self).allKeys.map(\.stringValue)
    let unknown = keys.filter { !known.contains($0) }.min()
    if let unknown { throw Unknown(key: unknown, known: known) }
  }

  /// The value of a key that has two names: `rateHz`, and the shorter `rate`.
  static func either<Value>(_ one: Value?, _ other: Value?) throws -> Value? {
    if one != nil, other != nil { throw Ambiguous() }
    return one ?? other
  }
}

extension ViewRequest.Values {
  /// Reads the keys of a view request from a JSON object; `rate` is another name of `rateHz`.
  ///
  /// - Parameter isNullRefused: whether a number that is null is an error; otherwise it counts as missing
  /// - Throws: `RequestKey.Unknown` for a key that is neither one of these nor among `others`, and
  ///   `ViewRequest.Mistake` for a value of another type
  init(from decoder: any Decoder, besides others: [String], isNullRefused: Bool = false) throws {
    self.init()
    try RequestKey.require(ViewRequest.Values.names + others, in: decoder)
    let values = try decoder.container(keyedBy: RequestKey.self)
    func number(_ name: String) throws -> Double? {
      let key = RequestKey(stringValue: name)
      // A null that counted as missing would change the meaning of the rest of the request.
      if isNullRefused { return values.contains(key) ? try values.decode(Double.self, forKey: key) : nil }
      return try values.decodeIfPresent(Double.self, forKey: key)
    }
    func number(_ key: ViewRequest.Key, named name: String) throws -> Double? {
      do { return try number(name) } catch { throw ViewRequest.Mistake.outOfRange(key, key.range) }
    }
    for key in ViewRequest.Key.allCases where key != .parts { numbers[key] = try number(key, named: key.rawValue) }
    numbers[.rateHz] = try RequestKey.either(numbers[.rateHz], number(.rateHz, named: "rate"))
    do {
      parts = try values.decodeIfPresent([String].self, forKey: RequestKey(stringValue: "parts"))
    } catch {
      throw ViewRequest.Mistake.parts(unknown: nil)
    }
  }

  /// All keys. The other name of the rate follows `rateHz`.
  static let names = ViewRequest.Key.allCases.flatMap { $0 == .rateHz ? ["rateHz", "rate"] : [$0.rawValue] }
}

extension ViewRequest {
  /// The members of a JSON object for this request, with a comma after each: `"every": 60, "accuracy": 10, `.
  public var members: String {
    let numbers: [(Key, Double?)] = [
      (.rateHz, rateHz), (.every, every?.inSeconds), (.accuracy, accuracyMetres), (.within, within?.inSeconds),
      (.distance, distanceMetres), (.maxAge, maxAge?.inSeconds), (.batch, batch?.inSeconds), (.error, errorMetres),
    ]
    var text = numbers.compactMap { key, number in number.map { "\"\(key.rawValue)\": \($0), " } }.joined()
    if let parts {
      let names = StatePart.allCases.filter(parts.contains).map { "\"\($0.rawValue)\"" }
      text += "\"parts\": [\(names.joined(separator: ", "))], "
    }
    return text
  }
}
