import Hub

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
  struct Ambiguous: Error {}

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
