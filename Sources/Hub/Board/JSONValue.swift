/// A value of a JSON5 document, with the line on which it begins.
struct JSONValue: Equatable {
  /// One member of an object.
  struct Member: Equatable {
    var key: String
    var value: JSONValue
    /// Where the document has it, from its key to the end of its value.
    var range: Range<Int>
  }

  enum Content: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// In the order of the document; no key stands twice.
    case object([Member])
  }

  var content: Content
  var line: Int
}
