/// The kinds of records (specification, "Records"), by their first byte.
enum Opcode {
  static let header: UInt8 = 0x01
  static let footer: UInt8 = 0x02
  static let schema: UInt8 = 0x03
  static let channel: UInt8 = 0x04
  static let message: UInt8 = 0x05
  static let chunk: UInt8 = 0x06
  static let messageIndex: UInt8 = 0x07
  static let chunkIndex: UInt8 = 0x08
  static let attachment: UInt8 = 0x09
  static let attachmentIndex: UInt8 = 0x0A
  static let statistics: UInt8 = 0x0B
  static let metadata: UInt8 = 0x0C
  static let metadataIndex: UInt8 = 0x0D
  static let summaryOffset: UInt8 = 0x0E
  static let dataEnd: UInt8 = 0x0F
  /// An application-defined kind that marks a damaged part, so that readers skip it.
  static let damaged: UInt8 = 0x81
}

/// The sizes and bytes that the format defines.
enum Layout {
  /// The first and last bytes of a file: 0x89, `MCAP`, the version's digit, carriage return, line feed.
  static let magic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]
  /// The size of an opcode and a length.
  static let prefixByteCount = 9
  /// The size of the fields before a message's data: channel, sequence, log time, publish time.
  static let messageHeaderByteCount = 22
  /// The size of the fields before the records of an uncompressed chunk: two times, size, CRC, an empty name, size.
  static let chunkHeaderByteCount = 40
  /// The size of a footer's content: two offsets and a CRC.
  static let footerByteCount = 20
  /// The size of an entry: a time and an offset.
  static let messageIndexEntryByteCount = 16
  /// The size of a message index without its entries: the record's prefix, the channel and the length of the entries.
  static let messageIndexByteCount = 15
}

/// Reads the fields of one record in order. A field that extends beyond the end of the record is an error, whatever
/// length it claims.
struct RecordReader {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int
  private let name: String
  private let offset: UInt64

  /// - Parameters:
  ///   - range: the position of the record's content in `bytes`
  ///   - name: the name of the record in errors
  ///   - offset: the file offset of the record, for errors
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

  /// Skips bytes and returns their position.
  mutating func take(_ count: Int) throws(MCAPError) -> Range<Int> {
    guard count >= 0, count <= remaining else { throw malformed }
    defer { position += count }
    return position..<position + count
  }

  /// Bytes preceded by a 32-bit length.
  mutating func shortBytes() throws(MCAPError) -> Range<Int> {
    guard let count = Int(exactly: try integer(UInt32.self)) else { throw malformed }
    return try take(count)
  }

  /// Bytes preceded by a 64-bit length.
  mutating func longBytes() throws(MCAPError) -> Range<Int> {
    guard let count = Int(exactly: try integer(UInt64.self)) else { throw malformed }
    return try take(count)
  }

  /// A string. Invalid UTF-8 is replaced.
  mutating func text() throws(MCAPError) -> String { String(decoding: bytes[try shortBytes()], as: UTF8.self) }

  /// A map. If a key occurs more than once, the last value counts.
  mutating func map() throws(MCAPError) -> [String: String] {
    var entries = try nested()
    var map: [String: String] = [:]
    while entries.remaining > 0 {
      let key = try entries.text()
      map[key] = try entries.text()
    }
    return map
  }

  /// A reader for an array or a map, which is preceded by its length in bytes.
  mutating func nested() throws(MCAPError) -> RecordReader {
    RecordReader(bytes, try shortBytes(), name: name, offset: offset)
  }
}

/// The position in the file from which a ``RecordSequence`` was read. Errors state it.
enum RecordLocation: Equatable {
  /// The records were read from this offset on.
  case bytesFrom(UInt64)
  /// The records were decompressed from the chunk at this offset.
  case chunk(UInt64)

  func offset(of position: Int) -> UInt64 {
    switch self {
    case .bytesFrom(let offset): offset &+ UInt64(position)
    case .chunk(let offset): offset
    }
  }
}

/// A sequence of records in memory.
struct RecordSequence {
  struct Record {
    var opcode: UInt8
    /// The position of the opcode.
    var start: Int
    var content: Range<Int>
  }

  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int
  private let location: RecordLocation

  /// - Parameter location: the position of the bytes in the file, for errors
  init(_ bytes: [UInt8], _ range: Range<Int>, _ location: RecordLocation) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
    self.location = location
  }

  /// - Parameter offset: the file offset of the first byte, for errors
  init(_ bytes: [UInt8], _ range: Range<Int>, offset: UInt64) {
    self.init(bytes, range, .bytesFrom(offset))
  }

  /// - Throws: `malformed` if the next record is incomplete or has the opcode 0
  mutating func next() throws(MCAPError) -> Record? {
    if position == end { return nil }
    var prefix = reader("record", position..<end)
    let opcode = try prefix.integer(UInt8.self)
    // No record has opcode 0, so these bytes are zeros in place of records.
    guard opcode != 0 else { throw prefix.malformed }
    let content = try prefix.longBytes()
    defer { position = content.upperBound }
    return Record(opcode: opcode, start: position, content: content)
  }

  func reader(_ name: String, _ record: Record) -> RecordReader {
    RecordReader(bytes, record.content, name: name, offset: location.offset(of: record.start))
  }

  private func reader(_ name: String, _ range: Range<Int>) -> RecordReader {
    RecordReader(bytes, range, name: name, offset: location.offset(of: range.lowerBound))
  }
}

/// Writes numbers, strings and records in the format's encoding (specification, "Serialization").
extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger & BitwiseCopyable) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  mutating func store(littleEndian value: some FixedWidthInteger & BitwiseCopyable, at index: Int) {
    withUnsafeMutableBytes { $0.storeBytes(of: value.littleEndian, toByteOffset: index, as: type(of: value)) }
  }

  /// Appends a string preceded by its length. The writer has already rejected strings that are too long for the
  /// length field.
  mutating func append(prefixed text: String) {
    append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
    append(contentsOf: text.utf8)
  }

  /// Appends a map preceded by its length. The pairs are sorted by key, so that equal maps have equal bytes.
  mutating func append(prefixed map: [String: String]) {
    let start = count
    append(littleEndian: UInt32(0))
    for (key, value) in map.sorted(by: { $0.key < $1.key }) {
      append(prefixed: key)
      append(prefixed: value)
    }
    store(littleEndian: UInt32(truncatingIfNeeded: count - start - 4), at: start)
  }

  /// Begins a record. `endRecord` fills in its length.
  mutating func beginRecord(_ opcode: UInt8) -> Int {
    append(opcode)
    append(littleEndian: UInt64(0))
    return count
  }

  /// - Parameter start: the value that `beginRecord` returned
  mutating func endRecord(_ start: Int) { store(littleEndian: UInt64(count - start), at: start - 8) }
}
