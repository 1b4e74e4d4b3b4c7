/// The destination of a writer's bytes: a file, a ring of segments, a socket or memory.
public protocol MCAPSink: ~Copyable {
  /// Appends bytes: the start of the file, a whole chunk with its indexes, an attachment, a metadata record, or the end
  /// of the file. The sink decides when to flush them to the disk.
  ///
  /// - Throws: if not all bytes could be appended; the sink must then keep none of them. The writer appends a chunk
  ///   again in its next call
  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError)
}
