import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// The reader of received bytes, and the node that answers. The frames were made by pymavlink 2.4.50.
struct MAVLinkNodeTests {
  private static let arduPilot = bytes("fd090000090101000000000000000203510303364c")
  private static let px4InVersion1 = bytes("fe090901010000000000020c5103030daa")
  private static let groundStation = bytes("fd09000001ffbe0000000000000006080004032dc6")
  private static let attitude = bytes("fd1000000a01011e0000e8030000cdcccc3dcdcc4c3e9a99993e78a7")
  private static let signed = bytes("fd0901000d0101000000000000000203510303b39c01010000000000d6daa494707c")
  /// A request for the time, from the autopilot's time of 5 s.
  private static let request = bytes("fd0d00000b01016f0000000000000000000000f2052a01d03c")
  /// The answer to the request of second 1: the autopilot's time is 9 s.
  private static let answer = bytes("fd0c00000c01016f0000001a71180200000000ca9a3b4fb1")

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex)
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
  }

  private static func node(at now: MonotonicInstant) throws -> MAVLinkNode {
    let board = try Board(
      json5: Array("{ name: 'test', mavlink: { to: 'udp://127.0.0.1:14550' } }".utf8), file: "board")
    return MAVLinkNode(try #require(board.mavlink), isSimulated: false, isStream: true, at: now)
  }

  /// A frame of the autopilot with the answer to a request.
  private static func answer(_ time: Int64, to request: Int64) -> [UInt8] {
    MAVLinkMessage.timeSync(answer: time, request: request, to: (1, 191)).frame(sequence: 0, system: 1, component: 1)
  }

  @Test func `frames are found among others, byte by byte, signed or not, and of both versions`() {
    var reader = MAVLinkReader(isStream: true)
    let stream = Self.attitude + Self.arduPilot + Self.px4InVersion1 + Self.signed + Self.request
    let frames = stream.flatMap { reader.read([$0]) }
    #expect(frames.map(\.kind) == [.heartbeat, .heartbeat, .heartbeat, .timeSync])
    #expect(frames.map { $0.payload[5] }.prefix(3) == [3, 12, 3])
    #expect(frames.allSatisfy { $0.system == 1 && $0.component == 1 && $0.payload.count == 18 })
    #expect(reader.refusedCount == 0)
  }

  @Test func `wrong frames and noise are counted and skipped`() {
    var reader = MAVLinkReader(isStream: true)
    var wrong = Self.arduPilot
    wrong[15] ^= 1
    // A flag that a receiver must know.
    var flagged = Self.arduPilot
    flagged[2] = 0x80
    #expect(reader.read(Array("noise".utf8) + wrong + flagged + Self.arduPilot).map(\.kind) == [.heartbeat])
    #expect(reader.refusedCount == 3)
  }

  @Test func `a datagram with half a frame does not affect the next one`() {
    var reader = MAVLinkReader(isStream: false)
    #expect(reader.read(Self.arduPilot.dropLast(3)).isEmpty && reader.refusedCount == 1)
    #expect(reader.read(Self.arduPilot).count == 1 && reader.refusedCount == 1)
  }

  @Test func `any bytes leave at most one frame behind`() {
    var random = SeededRandom()
    for isStream in [true, false] {
      var reader = MAVLinkReader(isStream: isStream)
      for _ in 0..<500 {
        var bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        if Bool.random(using: &random), !bytes.isEmpty { bytes[0] = 0xFD }
        _ = reader.read(bytes)
      }
      // After at most 280 bytes of a false frame, true ones are found again.
      let frames = (0..<20).flatMap { _ in reader.read(Self.arduPilot) }
      #expect(frames.count >= 5 && reader.refusedCount > 100)
    }
  }

  @Test func `the heartbeat is sent once a second`() throws {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    #expect(node.elapse(to: clock.now) == [.heartbeat(isSimulated: false)])
    #expect(node.elapse(to: clock.now).isEmpty && node.deadline == clock.now + .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(node.elapse(to: clock.now).count == 1)
  }

  @Test func `the first heartbeat of an autopilot leads to a request, and its answer gives the difference`() throws {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    #expect(node.receive(Self.groundStation, at: clock.now).isEmpty && node.autopilot == nil)
    #expect(node.receive(Self.arduPilot, at: clock.now) == [.timeSync(request: 1_000_000_000, to: (1, 1))])
    #expect(node.autopilot?.isArduPilot == true)
    #expect(node.sync.offset == nil && node.sync.time(at: clock.now) == 1_000_000_000)
    clock.advance(by: .milliseconds(4))
    #expect(node.receive(Self.answer, at: clock.now).isEmpty)
    // The autopilot's 9 s lie in the middle between 1 s and 1.004 s.
    #expect(node.sync.offset == 7_998_000_000)
    #expect(node.sync.time(at: clock.now) == 9_002_000_000)
    // The same answer again answers no request. Without a target, it may be for another component.
    #expect(node.receive(Self.answer, at: clock.now).isEmpty && node.refusedCount == 0)
    #expect(
      node.receive(Self.answer(9_000_000_000, to: 1_000_000_000), at: clock.now).isEmpty && node.refusedCount == 1)
    #expect(node.sync.offset == 7_998_000_000)
  }

  @Test func `a request for the time is answered in the time of the messages`() throws {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    #expect(
      node.receive(Self.request, at: clock.now)
        == [.timeSync(answer: 1_000_000_000, request: 5_000_000_000, to: (1, 1))])
    _ = node.receive(Self.arduPilot, at: clock.now)
    _ = node.receive(Self.answer, at: clock.now)
    #expect(
      node.receive(Self.request, at: clock.now)
        == [.timeSync(answer: 9_000_000_000, request: 5_000_000_000, to: (1, 1))])
    // A request to another component gets no answer.
    let foreign = MAVLinkMessage.timeSync(request: 5, to: (1, 1)).frame(sequence: 0, system: 255, component: 190)
    #expect(node.receive(foreign, at: clock.now).isEmpty)
  }

  @Test func `the shortest round trip counts, and a restart of the autopilot is noticed`() {
    let clock = ManualClock()
    var sync = MAVLinkTimeSync()
    func exchange(_ out: Duration, _ back: Duration, offset: Duration) -> Bool {
      let request = sync.begin(at: clock.now)
      clock.advance(by: out)
      let answer = (clock.now + offset).nanoseconds
      clock.advance(by: back)
      defer { clock.advance(by: .seconds(1)) }
      return sync.take(request: request, answer: answer, at: clock.now)
    }
    #expect(exchange(.milliseconds(1), .milliseconds(9), offset: .seconds(100)) && sync.offset == 99_996_000_000)
    #expect(exchange(.milliseconds(1), .milliseconds(1), offset: .seconds(100)) && sync.offset == 100_000_000_000)
    #expect(exchange(.milliseconds(20), .milliseconds(1), offset: .seconds(100)) && sync.offset == 100_000_000_000)
    // The autopilot has restarted.
    #expect(exchange(.milliseconds(1), .milliseconds(5), offset: .seconds(2)) && sync.offset == 1_998_000_000)
    // Clocks drift, so an old answer does not count any more.
    clock.advance(by: .seconds(60))
    #expect(exchange(.milliseconds(9), .milliseconds(9), offset: .milliseconds(2005)) && sync.offset == 2_005_000_000)
  }

  @Test(arguments: [Int64.min, -1, .max, 1 << 62]) func `an impossible time is refused`(_ time: Int64) throws {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    _ = node.receive(Self.arduPilot, at: clock.now)
    #expect(node.receive(Self.answer(time, to: 1_000_000_000), at: clock.now).isEmpty)
    #expect(node.sync.offset == nil && node.refusedCount == 1)
  }

  @Test func `another autopilot counts only after the first one has fallen silent`() throws {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    _ = node.receive(Self.arduPilot, at: clock.now)
    _ = node.receive(Self.answer, at: clock.now)
    var fields = MAVLinkFields()
    for value in [0, 0, 0, 0, 2, 12, 0, 4, 3] { fields.add(value, bytes: 1) }
    let other = MAVLinkMessage(.heartbeat, fields).frame(sequence: 0, system: 2, component: 1)
    _ = node.receive(other, at: clock.now)
    #expect(node.autopilot?.system == 1 && node.sync.offset != nil)
    clock.advance(by: .seconds(6))
    #expect(node.receive(other, at: clock.now).count == 1)
    #expect(node.autopilot?.system == 2 && node.sync.offset == nil)
    // The autopilot of the hub's own vehicle takes its place at once.
    #expect(node.receive(Self.arduPilot, at: clock.now).count == 1)
    #expect(node.autopilot?.system == 1)
    _ = node.receive(other, at: clock.now)
    #expect(node.autopilot?.system == 1)
  }

  @Test func `an autopilot of another kind with the same numbers counts only after the first one has fallen silent`()
    throws
  {
    let clock = ManualClock()
    var node = try Self.node(at: clock.now)
    _ = node.receive(Self.arduPilot, at: clock.now)
    _ = node.receive(Self.answer, at: clock.now)
    for _ in 0..<10 {
      clock.advance(by: .milliseconds(500))
      #expect(node.receive(Self.px4InVersion1, at: clock.now).isEmpty)
      #expect(node.autopilot?.isArduPilot == true && node.sync.offset != nil)
      clock.advance(by: .milliseconds(500))
      _ = node.receive(Self.arduPilot, at: clock.now)
    }
    clock.advance(by: .seconds(6))
    #expect(node.receive(Self.px4InVersion1, at: clock.now).count == 1)
    #expect(node.autopilot?.isArduPilot == false && node.sync.offset == nil)
  }
}
