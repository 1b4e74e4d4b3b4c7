/// The result of scanning a file without a usable summary. A later scan of the same file, which may still be growing,
/// continues from here.
public struct MCAPScan: Sendable {
  /// The number of bytes at the start of a file that identify the file. They usually include the header, the first seal
  /// and the metadata of the recording.
  private static let beginningByteCount: UInt64 = 4096

  let header: MCAPHeader
  let summary: MCAPSummary
  let parts: [Part]
  /// The file offset of the end of the last complete record.
  let end: UInt64
  /// The checksum of the file's beginning.
  let beginning: UInt32
  let seals: SealState?
  /// The damaged parts that are followed by more of the recording, as in `DataSectionScan`.
  let leftOut: [Range<UInt64>]
  let leftOutBecause: MCAPError?

  /// - Parameter end: bytes at and after this offset are ignored
  static func beginning(of source: some MCAPSource, end: UInt64) throws(MCAPError) -> UInt32 {
    try source.crc(0..<min(end, beginningByteCount))
  }
}
