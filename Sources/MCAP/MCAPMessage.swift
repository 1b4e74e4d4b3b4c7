/// One message of a channel.
public struct MCAPMessage: Equatable, Sendable {
  public var channelID: UInt16
  /// Counts the channel's messages, so that a gap shows what is missing.
  public var sequence: UInt32
  /// When it was recorded, in nanoseconds since an epoch that the writer chooses, 1970 as a rule.
  public var logTimeNanoseconds: UInt64
  /// When it was made; the log time where that is not known.
  public var publishTimeNanoseconds: UInt64
  /// A view into the chunk that it was read from, which stays in memory as long as this: `Array(data)` lets it go. Its indices do
  /// not begin at 0.
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
