/// What of a source is its file's own: of a sealed one all up to its last seal, or to the end of its data section; all of another.
///
/// Behind that may be what was being written just then, and whatever an older file has left.
struct SealedSource<Base: MCAPSource>: MCAPSource {
  let byteCount: UInt64
  /// Whether seals tell what is of the file.
  let isSealed: Bool
  private let base: Base

  init(_ base: Base) throws(MCAPError) {
    self.base = base
    let end = try SealedSource.sealedEnd(of: base)
    isSealed = end != nil
    byteCount = end ?? base.byteCount
  }

  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(MCAPError) {
    guard let end = offset.adding(UInt64(buffer.count)), end <= byteCount else { throw .cut(offset: offset) }
    try base.read(at: offset, into: buffer)
  }

  /// Behind the last seal that is right; `nil` where the file's first one is not behind its header.
  private static func sealedEnd(of source: Base) throws(MCAPError) -> UInt64? {
    var scan = SealScan(source)
    do {
      try scan.run()
    } catch {
      // What lies behind the last seal may be anything.
      if case .system = error { throw error }
    }
    return scan.sealedEnd
  }
}

/// Goes from record to record, and checks the seals among them.
private struct SealScan<Source: MCAPSource> {
  private(set) var sealedEnd: UInt64?
  private let source: Source
  private var identity: UInt64?
  /// Of all bytes before `end`.
  private var crc = CRC32()
  private var end: UInt64 = 0

  init(_ source: Source) { self.source = source }

  mutating func run() throws(MCAPError) {
    guard try source.bytes(at: 0, count: Layout.magic.count) == Layout.magic else { return }
    let header = try source.recordPrefix(at: UInt64(Layout.magic.count))
    guard header.opcode == Opcode.header else { return }
    try advance(to: header.content.upperBound)
    while true {
      let record = try source.recordPrefix(at: end)
      switch record.opcode {
      case Seal.opcode: guard try take(record.content) else { return }
      case Opcode.dataEnd:
        if identity != nil, try isRight(dataEnd: record.content) { sealedEnd = record.content.upperBound }
        return
      case 0: return
      default: if identity == nil { return }
      }
      try advance(to: record.content.upperBound)
    }
  }

  private mutating func advance(to next: UInt64) throws(MCAPError) {
    try source.take(end..<next, into: &crc)
    end = next
  }

  /// Returns `false` for a seal that is not this file's.
  private mutating func take(_ content: Range<UInt64>) throws(MCAPError) -> Bool {
    // One of another application's is none; without a first one there are no others.
    guard let seal = try Seal(source, content) else { return identity != nil }
    guard seal.offset == end, seal.crc == crc.value, identity == nil || seal.identity == identity else { return false }
    identity = seal.identity
    sealedEnd = content.upperBound
    return true
  }

  private func isRight(dataEnd content: Range<UInt64>) throws(MCAPError) -> Bool {
    let bytes = try source.bytes(at: content.lowerBound, count: 4)
    var fields = RecordReader(bytes, 0..<4, name: "data end", offset: end)
    return try fields.integer(UInt32.self) == crc.value
  }
}
