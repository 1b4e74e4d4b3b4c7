import Hub
import MCAP
import TestSupport
import Testing

@testable import Recording

struct CompressedRecordingTests {
  private let folder = RecordingFolder()
  private let settings = RecordSettings(path: "", compression: .zstd)
  /// A sentence that every receiver repeats often.
  private let sentence = "$GPGSV,3,1,11,03,03,111,00,04,15,270,00,06,01,010,00,13,06,292,00*74"

  /// The compressions of all chunks, by segment.
  private func compressions() throws -> [Set<String>] {
    try folder.names.map { name in
      let reader = try MCAPReader(path: "\(folder.path)/\(name)")
      try reader.check()
      return Set(reader.summary.chunks.map(\.compression))
    }
  }

  @Test
  func `with zstd every segment is compressed, and a truncated one lacks nothing from before the last flush`()
    throws
  {
    do {
      let rig = Rig(folder.store, settings)
      for _ in 0..<500 { rig.append(sentence) }
      _ = rig.turnWhenDue()
      #expect(rig.events.values == [.began(segment: folder.names[0])])
      // The segment is not ended.
    }
    let byteCount = try MCAPReader(path: "\(folder.path)/\(folder.names[0])").source.byteCount
    #expect(byteCount < 500 * 69 / 2)
    let rig = Rig(folder.store, settings)
    rig.append(sentence)
    rig.writer.finish()
    let wasRepaired = rig.events.values.contains { if case .repaired = $0 { true } else { false } }
    #expect(wasRepaired)
    #expect(try compressions().contains(["zstd"]))
    #expect(try folder.texts("/raw") == [String](repeating: sentence, count: 501))
  }

  @Test func `without the library the recorder writes uncompressed data, and reports this once`() throws {
    let limits = RecordingLimits(settings, canCompress: { $0 == .none })
    let rig = Rig(folder.store, limits)
    for round in 0..<3 {
      rig.append("\(round) \(sentence)")
      _ = rig.turnWhenDue()
    }
    rig.writer.finish()
    #expect(rig.events.values == [.notCompressed(.missingLibrary("zstd")), .began(segment: folder.names[0])])
    #expect(try compressions() == [[""]])
    #expect(try folder.texts("/raw").count == 3)
  }

  @Test func `nothing is compressed or reported unless compression is requested`() throws {
    let rig = Rig(folder.store)
    for _ in 0..<500 { rig.append(sentence) }
    rig.writer.finish()
    #expect(rig.events.values == [.began(segment: folder.names[0])])
    #expect(try compressions() == [[""]])
  }
}
