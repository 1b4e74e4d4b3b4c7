/// Facts about the recording as key-value pairs, for example the board, the devices and the software.
public struct MCAPMetadata: Equatable, Sendable {
  public var name: String
  public var entries: [String: String]

  public init(name: String, entries: [String: String]) {
    self.name = name
    self.entries = entries
  }
}

/// The position of a metadata record in the file.
public struct MCAPMetadataIndex: Equatable, Sendable {
  /// The file offset of the record.
  public var offset: UInt64
  /// The size of the whole record.
  public var byteCount: UInt64
  public var name: String
}

extension MCAPMetadata {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    name = try fields.text()
    entries = try fields.map()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.metadata)
    bytes.append(prefixed: name)
    bytes.append(prefixed: entries)
    bytes.endRecord(start)
  }
}

extension MCAPMetadataIndex {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    offset = try fields.integer()
    byteCount = try fields.integer()
    name = try fields.text()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.metadataIndex)
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: byteCount)
    bytes.append(prefixed: name)
    bytes.endRecord(start)
  }
}
