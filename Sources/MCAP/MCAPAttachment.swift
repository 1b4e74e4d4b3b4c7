/// A file inside the file: a calibration, a log, a picture.
public struct MCAPAttachment: Equatable, Sendable {
  public var name: String
  public var mediaType: String
  /// When it was recorded, in nanoseconds since the epoch of the messages.
  public var logTimeNanoseconds: UInt64
  /// When it was made; 0 where that is not known.
  public var createTimeNanoseconds: UInt64
  public var data: [UInt8]

  public init(
    name: String, mediaType: String, logTimeNanoseconds: UInt64, createTimeNanoseconds: UInt64 = 0, data: [UInt8]
  ) {
    self.name = name
    self.mediaType = mediaType
    self.logTimeNanoseconds = logTimeNanoseconds
    self.createTimeNanoseconds = createTimeNanoseconds
    self.data = data
  }
}

/// Where an attachment lies, and what it is without its data.
public struct MCAPAttachmentIndex: Equatable, Sendable {
  /// From the file's start to the record.
  public var offset: UInt64
  /// Of the whole record.
  public var byteCount: UInt64
  public var logTimeNanoseconds: UInt64
  public var createTimeNanoseconds: UInt64
  public var dataByteCount: UInt64
  public var name: String
  public var mediaType: String
}

extension MCAPAttachment {
  init(_ fields: inout RecordReader, of bytes: [UInt8]) throws(MCAPError) {
    logTimeNanoseconds = try fields.integer()
    createTimeNanoseconds = try fields.integer()
    name = try fields.text()
    mediaType = try fields.text()
    data = Array(bytes[try fields.longBytes()])
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.attachment)
    bytes.append(littleEndian: logTimeNanoseconds)
    bytes.append(littleEndian: createTimeNanoseconds)
    bytes.append(prefixed: name)
    bytes.append(prefixed: mediaType)
    bytes.append(littleEndian: UInt64(data.count))
    bytes.append(contentsOf: data)
    // Of the fields alone, without opcode and length.
    bytes.append(littleEndian: CRC32.of(bytes, start..<bytes.count))
    bytes.endRecord(start)
  }

  func index(offset: UInt64, byteCount: UInt64) -> MCAPAttachmentIndex {
    MCAPAttachmentIndex(
      offset: offset, byteCount: byteCount, logTimeNanoseconds: logTimeNanoseconds,
      createTimeNanoseconds: createTimeNanoseconds, dataByteCount: UInt64(data.count), name: name, mediaType: mediaType)
  }
}

extension MCAPAttachmentIndex {
  init(_ fields: inout RecordReader) throws(MCAPError) {
    offset = try fields.integer()
    byteCount = try fields.integer()
    logTimeNanoseconds = try fields.integer()
    createTimeNanoseconds = try fields.integer()
    dataByteCount = try fields.integer()
    name = try fields.text()
    mediaType = try fields.text()
  }

  func append(to bytes: inout [UInt8]) {
    let start = bytes.beginRecord(Opcode.attachmentIndex)
    bytes.append(littleEndian: offset)
    bytes.append(littleEndian: byteCount)
    bytes.append(littleEndian: logTimeNanoseconds)
    bytes.append(littleEndian: createTimeNanoseconds)
    bytes.append(littleEndian: dataByteCount)
    bytes.append(prefixed: name)
    bytes.append(prefixed: mediaType)
    bytes.endRecord(start)
  }
}
