/// A value of a JSON5 document, with the line on which it begins.
struct JSONValue: Equatable {
  /// One member of an object.
  struct Member: Equatable {
    var key: String
    var value: JSONValue
    /// Where the document has its key, with its quotes.
    var keyRange: Range<Int>
    /// Where its value begins, and where it ends.
    var valueRange: Range<Int>
    /// Its end, including the comma after it, if there is one.
    var end: Int

    var range: Range<Int> { keyRange.lowerBound..<valueRange.upperBound }
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
