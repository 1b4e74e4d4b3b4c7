/// What of a source is its file's own: of a sealed one all up to its last seal, or to the end of its data section; all of another.
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

  /// Up to the last seal that is right; `nil` where the file's first one is not behind its header.
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

/// What is known at the last seal of a file that is right.
struct SealState: Sendable {
  fileprivate var identity: UInt64
  /// Of all bytes before `end`.
  fileprivate var crc: CRC32
  /// Behind that seal.
  fileprivate var end: UInt64
  /// The same, or behind the end of the data section.
  fileprivate(set) var sealedEnd: UInt64
}

/// Goes from record to record, and checks the seals among them.
private struct SealScan<Source: MCAPSource> {
  private(set) var sealed: SealState?
  private let source: Source
  private var identity: UInt64?
  /// Of all bytes before `end`.
  private var crc = CRC32()
  private var end: UInt64 = 0

  init(_ source: Source, after before: SealState?) {
    self.source = source
    guard let before, before.end <= source.byteCount else { return }
    sealed = before
    identity = before.identity
    crc = before.crc
    end = before.end
  }

  mutating func run() throws(MCAPError) {
    if identity == nil, try !begin() { return }
    while true {
      let record = try source.recordPrefix(at: end)
      switch record.opcode {
      case Seal.opcode:
        guard try take(record.content) else { return }
        continue
      case Opcode.dataEnd:
        if identity != nil, try isRight(dataEnd: record.content) { sealed?.sealedEnd = record.content.upperBound }
        return
      case 0: return
      default: if identity == nil { return }
      }
      try advance(to: record.content.upperBound)
    }
  }

  /// Returns whether it begins as a file does.
  private mutating func begin() throws(MCAPError) -> Bool {
    guard try source.bytes(at: 0, count: Layout.magic.count) == Layout.magic else { return false }
    let header = try source.recordPrefix(at: UInt64(Layout.magic.count))
    guard header.opcode == Opcode.header else { return false }
    try advance(to: header.content.upperBound)
    return true
  }

  private mutating func advance(to next: UInt64) throws(MCAPError) {
    try source.take(end..<next, into: &crc)
    end = next
  }

  /// Steps over a seal; returns `false` for one that is not this file's.
  private mutating func take(_ content: Range<UInt64>) throws(MCAPError) -> Bool {
    // One of another application's is none; without a first one there are no others.
    guard let seal = try Seal(source, content) else {
      try advance(to: content.upperBound)
      return identity != nil
    }
    guard seal.offset == end, seal.crc == crc.value, identity == nil || seal.identity == identity else { return false }
    identity = seal.identity
    try advance(to: content.upperBound)
    sealed = SealState(identity: seal.identity, crc: crc, end: end, sealedEnd: end)
    return true
  }

  private func isRight(dataEnd content: Range<UInt64>) throws(MCAPError) -> Bool {
    let bytes = try source.bytes(at: content.lowerBound, count: 4)
    var fields = RecordReader(bytes, 0..<4, name: "data end", offset: end)
    return try fields.integer(UInt32.self) == crc.value
  }
}
