import Glibc
import TestSupport
import Testing

@testable import Outputs

struct ByteRangeTests {
  @Test(
    arguments: [
      ("bytes=0-9", 0..<10), ("bytes=90-", 90..<100), ("bytes=90-500", 90..<100), ("bytes=-10", 90..<100),
      ("bytes=-500", 0..<50), ("bytes=0-", 0..<50), ("Bytes=5-5", 5..<6),
    ] as [(String, Range<UInt64>)])
  func `a single range is limited to the file's length and the limit`(_ field: String, _ range: Range<UInt64>) throws {
    #expect(try #require(ByteRange(field)).bytes(of: 100, limit: 50) == range)
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=-", "bytes=-0", "bytes=5-4", "bytes=0-1,3-4", "bytes=+1-2", "bytes=1-2 ", "lines=0-1",
    "bytes=0x1-2", "bytes=99999999999999999999-", "bytes=1--2",
  ])
  func `any other Range header is ignored`(_ field: String) { #expect(ByteRange(field) == nil) }

  @Test(arguments: ["bytes=100-", "bytes=100-200"])
  func `a range may be outside of the file`(_ field: String) throws {
    #expect(try #require(ByteRange(field)).bytes(of: 100, limit: 50) == nil)
    #expect(try #require(ByteRange("bytes=-5")).bytes(of: 0, limit: 50) == nil)
  }

  @Test func `a long range is read piece by piece, and only from an unchanged file`() throws {
    let folder = TemporaryFolder("tiles")
    let path = "\(folder.path)/a.pmtiles"
    let map = Array("PMTiles\u{3}".utf8) + (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    func write(_ bytes: [UInt8]) {
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
      #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
      close(file)
    }
    write(map)
    let tiles = TileFile(path: path)
    let piece = try tiles.piece(try #require(ByteRange("bytes=5-200004")), ifMatch: nil)
    #expect(piece.range == 5..<200_005 && piece.bytes.count == Int(TileFile.longestPiece))
    var bytes = piece.bytes
    while bytes.count < piece.range.count {
      let more = try tiles.bytes(from: (5 + UInt64(bytes.count))..<200_005, tag: piece.tag)
      #expect(more.count <= Int(TileFile.longestPiece))
      bytes += more
    }
    #expect(bytes == Array(map[5..<200_005]))
    // An answer never combines parts of two maps.
    write(map + [1])
    #expect(throws: TileFile.Failure.self) { try tiles.bytes(from: 5..<9, tag: piece.tag) }
  }

  @Test func `only PMTiles files are read, and no symbolic links`() throws {
    let folder = TemporaryFolder("tiles")
    func write(_ bytes: [UInt8], to name: String) throws {
      let file = open("\(folder.path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
      #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
      close(file)
    }
    let map = Array("PMTiles\u{3}".utf8) + Array(repeating: 7, count: 92)
    try write(map, to: "a.pmtiles")
    try write(Array("root:x:0:0".utf8), to: "b.pmtiles")
    #expect(symlink("\(folder.path)/a.pmtiles", "\(folder.path)/c.pmtiles") == 0)
    #expect(mkfifo("\(folder.path)/d.pmtiles", 0o600) == 0)
    let range = try #require(ByteRange("bytes=0-9"))
    let piece = try TileFile(path: "\(folder.path)/a.pmtiles").piece(range, ifMatch: nil)
    #expect(piece.bytes == Array(map[..<10]) && piece.size == 100 && piece.range == 0..<10)
    for name in ["b", "c", "d", "e"] {
      #expect(throws: TileFile.Failure.self, "\(name)") {
        try TileFile(path: "\(folder.path)/\(name).pmtiles").piece(range, ifMatch: nil)
      }
    }
    // Another file of the same name is another map.
    try write(map + [1], to: "a.pmtiles")
    let other = TileFile(path: "\(folder.path)/a.pmtiles")
    #expect(throws: TileFile.Failure.self) { try other.piece(range, ifMatch: piece.tag) }
    #expect(try other.piece(range, ifMatch: "*").size == 101)
  }
}
