import FoundationEssentials
import Hub
import MonotonicTime

extension ViewRequest.Values {
  /// Reads the keys of a view request from a JSON object; `rate` is another name of `rateHz`.
  ///
  /// - Parameter isNullRefused: whether a number that is null is an error; otherwise it counts as missing
  /// - Throws: `RequestKey.Unknown` for a key that is neither one of these nor among `others`
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
    for key in ViewRequest.Key.allCases where key != .parts { numbers[key] = try number(key.rawValue) }
    numbers[.rateHz] = try RequestKey.either(numbers[.rateHz], number("rate"))
    parts = try values.decodeIfPresent([String].self, forKey: RequestKey(stringValue: "parts"))
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
