/// What was found in a file without a summary, and how far that went: a file that is being written need not be gone through
/// from its start each time that somebody looks.
public struct MCAPScan: Sendable {
  /// By so much of their beginning files are told apart: it has the header, the first seal and what is known of the recording.
  private static let beginningByteCount: UInt64 = 4096

  let header: MCAPHeader
  let summary: MCAPSummary
  let parts: [Part]
  /// Behind the last whole record, in bytes from the file's start.
  let end: UInt64
  /// The checksum of the file's beginning.
  let beginning: UInt32
  let seals: SealState?
  /// As the scan of the data section has it.
  let leftOut: [Range<UInt64>]
  let leftOutBecause: MCAPError?

  /// - Parameter end: what is behind it does not count
  static func beginning(of source: some MCAPSource, end: UInt64) throws(MCAPError) -> UInt32 {
    try source.crc(0..<min(end, beginningByteCount))
  }
}
