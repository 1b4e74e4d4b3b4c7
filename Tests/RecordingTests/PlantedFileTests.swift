import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

@testable import Recording

/// Files that another user plants in a writable folder of recordings.
struct PlantedFileTests {
  private let temporary = TemporaryFolder("planted")
  private let name = "sensorhub-20260101T000000Z-001.mcap"
  private var folder: String { "\(temporary.path)/recordings" }
  private var victim: String { "\(temporary.path)/victim" }
  private var store: SegmentFolder { SegmentFolder(path: folder) }

  init() {
    mkdir(folder, 0o777)
    HubProcess.write(Array(repeating: 7, count: 10_000), to: victim)
  }

  private var isVictimWhole: Bool { (try? Files.bytes(of: victim)) == Array(repeating: 7, count: 10_000) }

  @Test func `a link in place of a segment is replaced, and the link's target stays unchanged`() throws {
    #expect(symlink(victim, "\(folder)/\(name)") == 0)
    let file = try store.create(name, limit: nil)
    // The compiler crashes on a closure here that throws a typed error.
    var failure: MCAPError?
    [UInt8](repeating: 1, count: 100).withUnsafeBytes { bytes in
      do throws(MCAPError) { try file.append(bytes) } catch { failure = error }
    }
    #expect(failure == nil)
    try file.finish()
    #expect(isVictimWhole)
    #expect(try Files.bytes(of: "\(folder)/\(name)").count == 100)
    #expect(store.segments.map(\.name) == [name])
  }

  @Test func `a link in place of a segment is neither repaired, overwritten, served nor counted as held`() throws {
    #expect(symlink(victim, "\(folder)/\(name)") == 0)
    #expect(throws: MCAPError.self) { try store.repair(name) }
    #expect(try store.recycle(name, as: "sensorhub-20260101T000001Z-001.mcap", limit: nil) == nil)
    #expect(!store.isHeld(name))
    #expect(try SegmentCatalogue(path: folder).content(of: name) == nil)
    #expect(isVictimWhole)
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `another user's file is not overwritten, unless the folder belongs to that user too`() throws {
    try RootRights.require()
    HubProcess.write([UInt8](repeating: 7, count: 10_000), to: "\(folder)/\(name)")
    #expect(OtherUser.give("\(folder)/\(name)"))
    #expect(try store.recycle(name, as: "sensorhub-20260101T000001Z-001.mcap", limit: nil) == nil)
    #expect(throws: MCAPError.self) { try store.repair(name) }
    #expect(try Files.bytes(of: "\(folder)/\(name)").count == 10_000)
    #expect(OtherUser.give(folder))
    #expect(try store.recycle(name, as: "sensorhub-20260101T000001Z-001.mcap", limit: nil) != nil)
  }
}
