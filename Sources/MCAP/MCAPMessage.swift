/// One message of a channel.
public struct MCAPMessage: Equatable, Sendable {
  public var channelID: UInt16
  /// A counter per channel, so that missing messages can be detected.
  public var sequence: UInt32
  /// When the message was recorded, in nanoseconds since an epoch chosen by the writer, usually 1970.
  public var logTimeNanoseconds: UInt64
  /// When the message was created; equal to the log time if unknown.
  public var publishTimeNanoseconds: UInt64
  /// The payload, as a slice of the chunk that it was read from. The slice keeps the whole chunk in memory;
  /// `Array(data)` copies the payload so that the chunk can be released. The indices of the slice do not begin at 0.
  public var data: ArraySlice<UInt8>

  public init(
    channelID: UInt16, sequence: UInt32, logTimeNanoseconds: UInt64, publishTimeNanoseconds: UInt64,
    data: ArraySlice<UInt8>
  ) {
    self.channelID = channelID
    self.sequence = sequence
    self.logTimeNanoseconds = logTimeNanoseconds
    self.publishTimeNanoseconds = publishTimeNanoseconds
    self.data = data
  }
}

extension MCAPMessage {
  init(_ fields: inout RecordReader, of bytes: [UInt8]) throws(MCAPError) {
    channelID = try fields.integer()
    sequence = try fields.integer()
    logTimeNanoseconds = try fields.integer()
    publishTimeNanoseconds = try fields.integer()
    data = bytes[try fields.take(fields.remaining)]
  }
}
