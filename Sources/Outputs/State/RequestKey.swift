import Hub

/// A key of a client's request, known or unknown.
struct RequestKey: CodingKey {
  /// An unknown key, which is refused. If it were ignored, a client that wanted only the IMU might wake everything.
  struct Unknown: Error, CustomStringConvertible {
    var key: String
    var known: [String]

    var description: String {
      let guess = NearestWord.guess(key, among: known).map { "did you mean '\($0)'?" }
      return "'\(Text.printable(String(key.prefix(40))))' is not a key of this request; "
        + (guess ?? "there are \(known.joined(separator: ", "))")
    }
  }

  /// A request used both names of one key.
  struct Ambiguous: Error {}

  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }

  /// - Throws: `Unknown` for the first unknown key, in order of the names
  static func require(_ known: [String], in decoder: any Decoder) throws {
    let keys = try decoder.container(keyedBy: RequestKey.self).allKeys.map(\.stringValue)
    let unknown = keys.filter { !known.contains($0) }.min()
    if let unknown { throw Unknown(key: unknown, known: known) }
  }

  /// The value of a key with two names: `rateHz`, and `rate` for people who type it.
  static func either<Value>(_ one: Value?, _ other: Value?) throws -> Value? {
    if one != nil, other != nil { throw Ambiguous() }
    return one ?? other
  }
}
