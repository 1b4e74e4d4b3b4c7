/// Where a writer's bytes go: a file, a ring of segments, a socket, memory.
public protocol MCAPSink: ~Copyable {
  /// Puts bytes behind all those before: the file's start, a whole chunk with its indexes, an attachment, the file's end. When
  /// they are on the disk is the sink's affair.
  ///
  /// - Throws: if not all of them could be put there; then none of them must be. The writer offers them again with the next
  ///   call, until they are taken.
  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
}
