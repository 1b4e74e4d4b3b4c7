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
