import Fusion
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Fences that are added while the hub runs.
@Suite(.timeLimit(.minutes(10)))
struct AddedFencesTests {
  private static func fence(_ name: String, radius: Double = 40) -> AddedFence {
    AddedFence(name: name, latitude: 54.4, longitude: 10.2, radiusMetres: radius)
  }

  @Test func `a fence of the board file takes precedence over an added fence with the same name`() throws {
    var list = FenceList()
    try list.add(Self.fence("anchor"))
    try list.add(Self.fence("yard"))
    // A fence of the same name is moved.
    try list.add(Self.fence("anchor", radius: 60))
    #expect(list.all.map(\.name) == ["anchor", "yard"] && list.added[0].fence.radiusMetres == 60)
    list.ofBoard = [try Self.fence("anchor", radius: 10).settings()]
    #expect(list.all.map(\.name) == ["anchor", "yard"] && list.all[0].area.squareMetres < 400)
    #expect(list.addedNames == ["yard"])
    #expect(throws: FenceRefusal.ofBoardFile(name: "anchor")) { try list.add(Self.fence("anchor")) }
    #expect(throws: FenceRefusal.ofBoardFile(name: "anchor")) { try list.remove("anchor") }
    #expect(throws: FenceRefusal.unknown(name: "quay", known: ["yard"])) { try list.remove("quay") }
    try list.remove("yard")
    list.ofBoard = []
    #expect(list.all.map(\.name) == ["anchor"])
    // A restart of the hub does not lose a fence that the board file hides.
    var restored = FenceList()
    restored.ofBoard = [try Self.fence("anchor", radius: 10).settings()]
    restored.restore([Self.fence("anchor"), Self.fence("no name")])
    #expect(restored.addedNames.isEmpty && restored.all.count == 1)
    restored.ofBoard = []
    #expect(restored.all.map(\.name) == ["anchor"])
  }

  @Test func `the number of added fences is limited`() throws {
    var list = FenceList()
    for number in 0..<FenceList.limit { try list.add(Self.fence("f\(number)")) }
    #expect(throws: FenceRefusal.full(limit: FenceList.limit)) { try list.add(Self.fence("more")) }
    try list.add(Self.fence("f0", radius: 50))
    try list.remove("f1")
    try list.add(Self.fence("more"))
  }

  @Test(arguments: [
    (#"{"name": "my anchor", "radiusMetres": 40, "latitude": 54, "longitude": 10}"#, "'name' must be"),
    (#"{"name": "anchor", "radiusMetres": 0, "latitude": 54, "longitude": 10}"#, "'radiusMetres' must be"),
    (#"{"name": "anchor", "radiusMetres": 40, "latitude": 54}"#, "must be given together"),
    (#"{"name": "anchor", "radiusMetres": 40, "latitude": 99, "longitude": 10}"#, "must be from -85 to 85,"),
    (
      #"{"name": "anchor", "radiusMetres": 40, "latitude": 54, "longitude": 10, "grace": 0}"#,
      "'grace' must be a number from 1 to 3600"
    ),
    (#"{"name": "anchor", "radius": 40}"#, "did you mean 'radiusMetres'?"),
    (#"{"name": "anchor"}"#, "a fence is"), ("40", "a fence is"),
  ])
  func `an invalid fence is refused with the reason`(_ json: String, _ reason: String) {
    let refusal = #expect(throws: FenceRefusal.self) {
      let order = try FenceOrder.read(Array(json.utf8))
      _ = try order.isHere()
      _ = try order.fence(about: .init(latitudeDegrees: 0, longitudeDegrees: 0)).settings()
    }
    #expect(refusal.map { "\($0)".contains(reason) } == true, "\(refusal.map { "\($0)" } ?? "none")")
  }

  @Test func `added fences are kept over restarts until they are removed`() async throws {
    let folder = TemporaryFolder("added-fences")
    func file() -> AddedFenceFile { AddedFenceFile(path: "\(folder.path)/added-fences.json") {} }
    func host(_ fences: String = "") throws -> HubHost {
      let text = HubProcess.simulatedBoard(fences)
      let board = try Board(json5: Array(text.utf8), file: "test")
      let hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
      return HubHost(hub, version: "test")
    }
    let first = try host()
    first.fences.follow(first.hub, memory: nil, file: file()) { _ in }
    #expect(try first.fences.add(Self.fence("anchor")))
    #expect(first.fences.snapshots.map(\.status.name) == ["anchor"])
    // The added fence wakes the receiver like any other fence.
    #expect(first.hub.devices[0].schedules.map(\.holder) == ["fence anchor"])
    first.fences.end()
    first.shutDown()
    await first.hub.isOff()

    let second = try host("fences: { yard: { circle: [54.4, 10.2, 100] } }")
    second.fences.follow(second.hub, memory: nil, file: file()) { _ in }
    #expect(second.fences.snapshots.map(\.status.name) == ["yard", "anchor"] && second.fences.addedNames == ["anchor"])
    #expect(try second.fences.remove("anchor"))
    #expect(second.fences.snapshots.map(\.status.name) == ["yard"])
    #expect(file().fences.isEmpty)
    // Without a file, fences last only for this run.
    second.fences.end()
    second.fences.follow(second.hub, memory: nil) { _ in }
    #expect(try !second.fences.add(Self.fence("quay")))
    second.fences.end()
    second.shutDown()
    await second.hub.isOff()
  }

  @Test func `a fence that would be refused in any case wakes no receiver for the board's position`() async throws {
    let text = HubProcess.simulatedBoard("fences: { yard: { circle: [54.4, 10.2, 100] } }")
    let board = try Board(json5: Array(text.utf8), file: "test")
    let hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    let host = HubHost(hub, version: "test")
    host.fences.follow(hub, memory: nil) { _ in }
    for number in 0..<FenceList.limit { _ = try host.fences.add(Self.fence("f\(number)")) }
    for (name, reason) in [("yard", FenceRefusal.ofBoardFile(name: "yard")), ("more", .full(limit: FenceList.limit))] {
      let order = try FenceOrder.read(Array("{\"name\": \"\(name)\", \"radiusMetres\": 100}".utf8))
      let refusals = Recorder<FenceRefusal>()
      // The answer comes at once, and there is no search for the position.
      let search = host.add(order, as: "test") { _, refusal in if let refusal { refusals.append(refusal) } }
      #expect(search == nil && refusals.values == [reason])
    }
    host.fences.end()
    host.shutDown()
    await hub.isOff()
  }

  @Test func `adding a fence around the board's position wakes the receiver for a fix`() async throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    let hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    let host = HubHost(hub, version: "test")
    host.fences.follow(hub, memory: nil) { _ in }
    let order = try FenceOrder.read(Array(#"{"name": "anchor", "radiusMetres": 100}"#.utf8))
    let outcomes = Recorder<AddedFenceOutcome>()
    let adding = host.add(order, as: "test") { outcome, _ in if let outcome { outcomes.append(outcome) } }
    #expect(outcomes.waits { $0.count == 1 })
    let fence = try #require(outcomes.values.first?.fence)
    #expect(host.fences.snapshots.map(\.status.name) == ["anchor"] && host.fences.addedNames == ["anchor"])
    let position = try #require(hub.lastState.value?.position?.value)
    #expect(abs(fence.latitude - position.latitudeDegrees) < 0.01)
    adding?.cancel()
    host.fences.end()
    host.shutDown()
    await hub.isOff()
  }
}
