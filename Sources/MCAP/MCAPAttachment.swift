/// A file embedded in the recording, for example a calibration, a log or a picture.
public struct MCAPAttachment: Equatable, Sendable {
  public var name: String
  public var mediaType: String
  /// When it was recorded, in nanoseconds since the same epoch as the messages.
  public var logTimeNanoseconds: UInt64
  /// When it was created; 0 if unknown.
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

/// The position of an attachment in the file, and its fields without the data.
public struct MCAPAttachmentIndex: Equatable, Sendable {
  /// The file offset of the record.
  public var offset: UInt64
  /// The size of the whole record.
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
    // The checksum covers only the fields, without opcode and length.
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

extension MCAPAttachmentIndex {
  /// Reads an attachment's fields without its data, which may have any size.
  ///
  /// - Returns: the fields, and the number of content bytes before the checksum; a later version of the format may add
  ///   bytes after the checksum
  static func head(
    of content: Range<UInt64>, in source: some MCAPSource, recordOffset: UInt64, limit: Int
  ) throws(MCAPError) -> (index: MCAPAttachmentIndex, byteCount: UInt64) {
    let byteCount = content.upperBound - content.lowerBound
    // Names are usually short. Fields before the data that exceed 64 KiB count as malformed.
    let head = try source.bytes(at: content.lowerBound, count: Int(min(byteCount, UInt64(min(limit, 1 << 16)))))
    var fields = RecordReader(head, 0..<head.count, name: "attachment", offset: recordOffset)
    let logTime = try fields.integer(UInt64.self)
    let createTime = try fields.integer(UInt64.self)
    let name = try fields.text()
    let mediaType = try fields.text()
    let dataByteCount = try fields.integer(UInt64.self)
    guard let end = UInt64(fields.position).adding(dataByteCount), end.adding(4) ?? .max <= byteCount else {
      throw fields.malformed
    }
    let index = MCAPAttachmentIndex(
      offset: recordOffset, byteCount: byteCount + UInt64(Layout.prefixByteCount), logTimeNanoseconds: logTime,
      createTimeNanoseconds: createTime, dataByteCount: dataByteCount, name: name, mediaType: mediaType)
    return (index, end)
  }
}
