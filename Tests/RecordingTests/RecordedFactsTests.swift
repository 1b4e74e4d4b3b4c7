import Glibc
import MCAP
import MonotonicTime
import Testing

@testable import Recording

/// The facts about a recording's sources have times.
struct RecordedFactsTests {
  private let folder = RecordingFolder()

  @Test func `a later statement replaces an earlier one, and a statement that is not repeated ends`() throws {
    let rig = Rig(folder.store)
    let turned = [MCAPMetadata(name: "board", entries: ["file": "turned"])]
    rig.inbox.set([
      MCAPMetadata(name: "board", entries: ["file": "{}"]), MCAPMetadata(name: "calibration", entries: ["imu": "1"]),
    ])
    rig.append("first")
    _ = rig.writer.turn()
    rig.clock.advance(by: .seconds(1))
    rig.inbox.set(turned)
    rig.clock.advance(by: .seconds(1))
    // A repeated fact is not recorded again.
    rig.inbox.set(turned)
    rig.append("second")
    rig.writer.finish()
    let facts = try facts()
    #expect(facts.count == 2)
    let start = UInt64(Rig.start)
    let (early, until) = facts.holding(atNanoseconds: start + 999_999_999)
    #expect(early["board"] == ["file": "{}"] && early["calibration"] == ["imu": "1"])
    #expect(until == start + 1_000_000_000)
    let (late, never) = facts.holding(atNanoseconds: until)
    #expect(late["board"] == ["file": "turned"] && late["calibration"].isEmpty)
    #expect(never == .max)
    // The facts also hold for measurements a moment before they were recorded.
    #expect(facts.holding(atNanoseconds: start - 1).facts == early)
  }

  @Test func `each statement is recorded, even if several come before the writer's next turn`() throws {
    let rig = Rig(folder.store)
    func set(_ text: String) {
      rig.clock.advance(by: .seconds(1))
      rig.inbox.set([MCAPMetadata(name: "board", entries: ["file": text])])
      rig.append(text)
    }
    // The file begins while messages from before the second statement still wait.
    for text in ["one", "two"] { set(text) }
    _ = rig.writer.turn()
    for text in ["three", "four", "five"] { set(text) }
    rig.writer.finish()
    let facts = try facts()
    #expect(facts.map { $0["board"]["file"] } == ["one", "two", "three", "four", "five"])
    for (second, text) in ["one", "two", "three", "four", "five"].enumerated() {
      let (holding, _) = facts.holding(atNanoseconds: UInt64(Rig.start) + UInt64(second + 1) * 1_000_000_000)
      #expect(holding["board"]["file"] == text)
    }
  }

  @Test func `log times include a suspend, and facts that follow it apply from its middle`() throws {
    let rig = Rig(folder.store)
    rig.inbox.set([MCAPMetadata(name: "sensorhub", entries: ["offset": "before"])])
    rig.append("before")
    let offset = rig.time.offsetNanoseconds
    let following = rig.clock.onResume { [inbox = rig.inbox] slept in
      inbox.set([MCAPMetadata(name: "sensorhub", entries: ["offset": "after"])], before: slept / 2)
    }
    defer { following.end() }
    rig.clock.suspend(for: .seconds(3600))
    #expect(rig.time.offsetNanoseconds == offset + 3_600_000_000_000)
    rig.append("after")
    rig.writer.finish()
    let facts = try facts()
    let start = UInt64(Rig.start)
    #expect(facts.count == 2)
    #expect(facts.holding(atNanoseconds: start).facts["sensorhub"] == ["offset": "before"])
    #expect(facts.holding(atNanoseconds: start).until == start + 1_800_000_000_000)
    #expect(facts.holding(atNanoseconds: start + 3_600_000_000_000).facts["sensorhub"] == ["offset": "after"])
  }

  @Test func `in a recording without times, the last statement counts`() throws {
    try #require(mkdir(folder.path, 0o755) == 0)
    var writer = try MCAPWriter(MCAPFileSink(path: folder.path + "/old.mcap"))
    try writer.add(MCAPMetadata(name: "board", entries: ["file": "{}"]))
    try writer.add(MCAPMetadata(name: "calibration", entries: ["imu": "1"]))
    try writer.add(MCAPMetadata(name: "board", entries: ["file": "turned"]))
    try writer.finish()
    let (facts, until) = try facts().holding(atNanoseconds: 0)
    #expect(facts["board"] == ["file": "turned"] && facts["calibration"] == ["imu": "1"] && until == .max)
  }

  private func facts() throws -> [RecordedFacts] {
    RecordedFacts.all(of: try MCAPReader(path: folder.path + "/" + folder.names[0]))
  }
}
