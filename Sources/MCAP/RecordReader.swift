/// Reads the fields of one record from left to right. What would lie behind the record's end is an error, whatever the
/// lengths in it say.
struct RecordReader {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int
  private let name: String
  private let offset: UInt64

  /// - Parameters:
  ///   - range: where in `bytes` the record's content lies
  ///   - name: what the record is called in errors
  ///   - offset: where in the file the record begins, for errors
  init(_ bytes: [UInt8], _ range: Range<Int>, name: String, offset: UInt64) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
    self.name = name
    self.offset = offset
  }

  var remaining: Int { end - position }

  var malformed: MCAPError { .malformed(name, offset: offset) }

  mutating func integer<Value: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
    _ type: Value.Type = Value.self
  ) throws(MCAPError) -> Value {
    let start = try take(MemoryLayout<Value>.size).lowerBound
    return bytes.withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: Value.self)) }
  }

  /// Steps over bytes and says where they lie.
  mutating func take(_ count: Int) throws(MCAPError) -> Range<Int> {
    guard count >= 0, count <= remaining else { throw malformed }
    defer { position += count }
    return position..<position + count
  }

  /// Bytes behind a length of 32 bits.
  mutating func shortBytes() throws(MCAPError) -> Range<Int> {
    guard let count = Int(exactly: try integer(UInt32.self)) else { throw malformed }
    return try take(count)
  }

  /// Bytes behind a length of 64 bits.
  mutating func longBytes() throws(MCAPError) -> Range<Int> {
    guard let count = Int(exactly: try integer(UInt64.self)) else { throw malformed }
    return try take(count)
  }

  /// A text; bytes that are no UTF-8 are replaced.
  mutating func text() throws(MCAPError) -> String { String(decoding: bytes[try shortBytes()], as: UTF8.self) }

  /// Of pairs with the same key the last counts.
  mutating func map() throws(MCAPError) -> [String: String] {
    var entries = try nested()
    var map: [String: String] = [:]
    while entries.remaining > 0 {
      let key = try entries.text()
      map[key] = try entries.text()
    }
    return map
  }

  /// A reader for an array or a map, which are behind their length in bytes.
  mutating func nested() throws(MCAPError) -> RecordReader {
    RecordReader(bytes, try shortBytes(), name: name, offset: offset)
  }
}

/// Where in a file records are that are in memory.
enum RecordPlace: Equatable {
  /// They were read from an offset on.
  case bytesFrom(UInt64)
  /// They were decompressed; the offset is that of the chunk.
  case chunk(UInt64)

  func offset(of position: Int) -> UInt64 {
    switch self {
    case .bytesFrom(let offset): offset &+ UInt64(position)
    case .chunk(let offset): offset
    }
  }
}

/// One record after the other in bytes that are in memory.
struct RecordSequence {
  struct Record {
    var opcode: UInt8
    /// From the opcode on.
    var start: Int
    var content: Range<Int>
  }

  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int
  private let place: RecordPlace

  /// - Parameter place: where in the file the bytes are, for errors
  init(_ bytes: [UInt8], _ range: Range<Int>, _ place: RecordPlace) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
    self.place = place
  }

  /// - Parameter offset: where in the file the first of the bytes lies, for errors
  init(_ bytes: [UInt8], _ range: Range<Int>, offset: UInt64) {
    self.init(bytes, range, .bytesFrom(offset))
  }

  /// - Throws: `malformed` if the next one is not whole
  mutating func next() throws(MCAPError) -> Record? {
    if position == end { return nil }
    var prefix = reader("record", position..<end)
    let opcode = try prefix.integer(UInt8.self)
    // Nothing is numbered 0: these are zeros where records should be.
    guard opcode != 0 else { throw prefix.malformed }
    let content = try prefix.longBytes()
    defer { position = content.upperBound }
    return Record(opcode: opcode, start: position, content: content)
  }

  func reader(_ name: String, _ record: Record) -> RecordReader {
    RecordReader(bytes, record.content, name: name, offset: place.offset(of: record.start))
  }

  private func reader(_ name: String, _ range: Range<Int>) -> RecordReader {
    RecordReader(bytes, range, name: name, offset: place.offset(of: range.lowerBound))
  }
}
