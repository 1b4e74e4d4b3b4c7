/// A value of a JSON5 document, and the line on which it begins.
struct JSONValue: Equatable {
  /// A member of an object.
  struct Member: Equatable {
    var key: String
    var value: JSONValue
    /// The key's range of bytes in the document, including quotes.
    var keyRange: Range<Int>
    /// The value's range of bytes in the document.
    var valueRange: Range<Int>
    /// The offset of the byte after the member, or after its comma if it has one.
    var end: Int

    var range: Range<Int> { keyRange.lowerBound..<valueRange.upperBound }
  }

  enum Content: Equatable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// The members of an object, in the order of the document; each key is unique.
    case object([Member])
  }

  var content: Content
  var line: Int
}
