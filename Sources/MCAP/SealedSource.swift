/// The part of a source that belongs to its file. In a sealed file, this part ends at the last seal or at the end of
/// the data section, and `damaged` lists the damaged pieces in it. If the file is not sealed, this part is the whole
/// file.
///
/// The rest of a sealed file may be an incomplete write, or the remains of an older file.
struct SealedSource<Base: MCAPSource>: MCAPSource {
  let byteCount: UInt64
  /// Whether the file is sealed.
  let isSealed: Bool
  /// The state from which a later scan of the same, growing file can continue; `nil` for a file that is not sealed.
  let seals: SealState?
  private let base: Base

  /// - Parameter before: the state from an earlier scan
  init(_ base: Base, after before: SealState? = nil) throws(MCAPError) {
    self.base = base
    seals = try SealedSource.seals(of: base, after: before)
    isSealed = seals != nil
    byteCount = seals?.sealedEnd ?? base.byteCount
  }

  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    try base.read(at: offset, into: buffer)
  }

  /// The damaged pieces. Each extends from the end of one seal to the start of the next one, and is long enough for the
  /// header of a record.
  var damaged: [Range<UInt64>] { seals?.damaged ?? [] }

  /// The state up to the last seal; `nil` if the header is not followed by a seal.
  private static func seals(of source: Base, after before: SealState?) throws(MCAPError) -> SealState? {
    var scan = SealScan(source, after: before)
    do {
      try scan.run()
    } catch {
      // The bytes after the last seal may be anything, so an error in them is expected.
      if case .system = error { throw error }
    }
    return scan.sealed
  }
}

/// The state at the last seal of a file.
struct SealState: Sendable {
  fileprivate var identity: UInt64
  /// The checksum of all bytes before `end`, according to the last seal.
  fileprivate var crc: CRC32
  /// The end of the last seal.
  fileprivate var end: UInt64
  /// The end of the part that belongs to the file. This is the end of the data section if its end record follows the
  /// last seal and has a correct checksum; otherwise it is the end of the last seal.
  fileprivate(set) var sealedEnd: UInt64
  fileprivate(set) var damaged: [Range<UInt64>] = []
}

/// Follows the seals of a file and verifies the data between them. After a damaged piece, the scan searches for the
/// next seal of this file, and stops at the seals of an older file.
private struct SealScan<Source: MCAPSource> {
  private(set) var sealed: SealState?
  private let source: Source

  init(_ source: Source, after before: SealState?) {
    self.source = source
    if let before, before.end <= source.byteCount { sealed = before }
  }

  mutating func run() throws(MCAPError) {
    if sealed == nil { sealed = try first() }
    while var state = sealed, let (seal, end) = try seal(behind: state) {
      var crc = state.crc
      try source.take(state.end..<seal.offset, into: &crc)
      if crc.value != seal.crc {
        state.damaged.append(state.end..<seal.offset)
        crc = CRC32(goingOnFrom: seal.crc)
      }
      try source.take(seal.offset..<end, into: &crc)
      state.crc = crc
      state.end = end
      state.sealedEnd = end
      sealed = state
    }
    try takeEnd()
  }

  /// The state at the first seal, which follows the header; `nil` if the file is not sealed.
  private func first() throws(MCAPError) -> SealState? {
    guard try source.bytes(at: 0, count: Layout.magic.count) == Layout.magic else { return nil }
    let header = try source.recordPrefix(at: UInt64(Layout.magic.count))
    let offset = header.content.upperBound
    let record = try source.recordPrefix(at: offset)
    guard header.opcode == Opcode.header, record.opcode == Seal.opcode, let seal = try Seal(source, record.content),
      seal.offset == offset, try source.crc(0..<offset) == seal.crc
    else { return nil }
    let end = record.content.upperBound
    var crc = CRC32(goingOnFrom: seal.crc)
    try source.take(offset..<end, into: &crc)
    return SealState(identity: seal.identity, crc: crc, end: end, sealedEnd: end)
  }

  /// The next seal of this file and its end. The search goes byte by byte, because the lengths in a damaged piece may
  /// be wrong.
  private func seal(behind state: SealState) throws(MCAPError) -> (seal: Seal, end: UInt64)? {
    // At least one record lies between two seals.
    var position = state.end + UInt64(2 * Layout.prefixByteCount)
    var other: UInt64?
    while let mark = try source.offset(of: Seal.mark, from: position) {
      position = mark + 1
      let offset = mark - UInt64(Layout.prefixByteCount)
      do {
        let record = try source.recordPrefix(at: offset)
        guard record.opcode == Seal.opcode, let seal = try Seal(source, record.content), seal.offset == offset
        else { continue }
        if seal.identity == state.identity { return (seal, record.content.upperBound) }
        // A single seal with another identity may be damaged. Two seals with the same other identity belong to an older
        // file.
        if seal.identity == other { return nil }
        other = seal.identity
      } catch {
        // The bytes only look like a seal, so they are skipped.
        if case .system = error { throw error }
      }
    }
    return nil
  }

  /// Moves `sealedEnd` to the end of the data section, if the data end record follows the last seal and its checksum is
  /// correct.
  private mutating func takeEnd() throws(MCAPError) {
    guard let state = sealed else { return }
    var position = state.end
    while true {
      let record = try source.recordPrefix(at: position)
      switch record.opcode {
      case Opcode.dataEnd:
        var crc = state.crc
        try source.take(state.end..<position, into: &crc)
        let bytes = try source.bytes(at: record.content.lowerBound, count: 4)
        var fields = RecordReader(bytes, 0..<4, name: "data end", offset: position)
        if try fields.integer(UInt32.self) == crc.value { sealed?.sealedEnd = record.content.upperBound }
        return
      case 0: return
      default: position = record.content.upperBound
      }
    }
  }
}
