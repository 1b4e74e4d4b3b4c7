/// What of a source is its file's own: of a sealed one all up to its last seal, or to the end of its data section, but for the
/// pieces that are damaged; all of another.
///
/// Behind that may be what was being written just then, and whatever an older file has left.
struct SealedSource<Base: MCAPSource>: MCAPSource {
  let byteCount: UInt64
  /// Whether seals tell what is of the file.
  let isSealed: Bool
  /// What a later look at the same file, which has grown since, need not go through again; `nil` for a file that is not sealed.
  let seals: SealState?
  private let base: Base

  /// - Parameter before: of an earlier look
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

  /// The pieces that are damaged, from the seal before each to its own. Each has room for the start of a record.
  var damaged: [Range<UInt64>] { seals?.damaged ?? [] }

  /// Up to the last seal; `nil` where the file's first one is not behind its header.
  private static func seals(of source: Base, after before: SealState?) throws(MCAPError) -> SealState? {
    var scan = SealScan(source, after: before)
    do {
      try scan.run()
    } catch {
      // What lies behind the last seal may be anything.
      if case .system = error { throw error }
    }
    return scan.sealed
  }
}

/// What is known at the last seal of a file.
struct SealState: Sendable {
  fileprivate var identity: UInt64
  /// Of all bytes before `end`, by the last seal's account.
  fileprivate var crc: CRC32
  /// Behind that seal.
  fileprivate var end: UInt64
  /// The same, or behind the end of the data section.
  fileprivate(set) var sealedEnd: UInt64
  fileprivate(set) var damaged: [Range<UInt64>] = []
}

/// Goes from seal to seal, and checks what lies between them. A piece that is not as it was written costs no other: the next seal
/// is looked for, up to where an older file's begin.
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

  /// The file's first seal, where it begins as a sealed file does.
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

  /// The next seal of the same file, and where it ends. It is looked for byte by byte: where a piece is damaged its records may lead
  /// anywhere.
  private func seal(behind state: SealState) throws(MCAPError) -> (seal: Seal, end: UInt64)? {
    // With a record in between, as there always is.
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
        // One alone may be damaged.
        if seal.identity == other { return nil }
        other = seal.identity
      } catch {
        // It only looks like one.
        if case .system = error { throw error }
      }
    }
    return nil
  }

  /// Looks whether the data section's end follows.
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
