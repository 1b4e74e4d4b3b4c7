/// A value of a JSON5 document, with the line on which it begins.
struct JSONValue: Equatable {
  enum Content: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
  }

  var content: Content
  var line: Int
}
