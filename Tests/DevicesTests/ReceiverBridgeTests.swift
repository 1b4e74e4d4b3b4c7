import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Devices

/// A client that exchanges bytes with a receiver through the hub.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverBridgeTests {
  private static func text(_ text: String, _ count: Int) -> [UInt8] {
    Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
  }

  private static let version = MadeMessage.ubx(
    0x0A04,
    text("ROM CORE 3.01", 30) + text("00080000", 10)
      + ["FWVER=SPG 3.01", "PROTVER=18.00", "MOD=NEO-M8N-0"].flatMap { text($0, 30) })
  /// A message of the client, which no part of the hub sends.
  private static let question = MadeMessage.ubx(0x0A09, [])
  private static let faster = MadeMessage.ubx(0x0A0B, [1])

  private static func kind(_ request: [UInt8]) -> UInt16 {
    request.count > 3 && request[0] == 0xB5 ? UInt16(request[2]) << 8 | UInt16(request[3]) : 0
  }

  /// Answers like an M8. With `faster`, it changes its speed without an acknowledgement.
  private static func answer(_ request: [UInt8]) -> ScriptedReceiver.Reaction {
    switch kind(request) {
    case 0: .silence
    case 0x0A04: .says(version)
    case 0x2703: .says(MadeMessage.ubx(0x2703, [1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59]))
    case 0x0A09: .says(MadeMessage.ubx(0x0A09, [7, 7, 7]))
    case 0x0A0B: .goesTo(38400, saying: [])
    case 0x0608 where request.count == 8:
      .says(MadeMessage.ubx(0x0608, [0xE8, 3, 1, 0, 0, 0]) + MadeMessage.ubx(0x0501, [6, 8]))
    default: .says(MadeMessage.ubx(0x0501, [request[2], request[3]]))
    }
  }

  private let bridge = ReceiverBridge()

  private func rig(_ receiver: ScriptedReceiver) -> SessionRig {
    var configuration = ReceiverConfiguration(driver: .ublox, speed: .b9600)
    configuration.settings.rateHz = 5
    return SessionRig(configuration, receiver, bridge: bridge)
  }

  private func write(_ bytes: some Sequence<UInt8>) { Array(bytes).withUnsafeBufferPointer(bridge.write) }

  @Test func `a client's bytes reach the receiver as sent, and the hub configures it again afterwards`() async throws {
    let receiver = ScriptedReceiver(saying: [0, 255, 1], reacting: Self.answer)
    let rig = rig(receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    let before = receiver.requests.values
    #expect(before.map(Self.kind) == [0x0A04, 0x2703, 0x0608, 0x0608])

    #expect(bridge.claim(for: "u-center", hasRoom: {}) == nil)
    // The hub sends nothing between the parts of a message.
    write(Self.question.prefix(3))
    let count = rig.observations.values.count
    await rig.observations.first(count + 5)
    write(Self.question.dropFirst(3))
    let with = await receiver.requests.first(before.count + 1)
    #expect(with.last == Self.question)
    // Bytes that belong to no protocol arrive too, and so does the answer.
    let answer = MadeMessage.ubx(0x0A09, [7, 7, 7])
    #expect(rig.raw.waits { Self.contains($0.flatMap { $0 }, answer) })
    #expect(Self.contains(rig.raw.values.flatMap { $0 }, [0, 255, 1]))

    bridge.release()
    #expect(await rig.started.first(2) == [.b9600, .b9600])
    let after = receiver.requests.values.dropFirst(with.count).map(Self.kind)
    #expect(after == [0x0A04, 0x2703, 0x0608, 0x0608])
    await rig.finish()
    receiver.end()
  }

  @Test func `after a client has changed the receiver's speed, the hub finds the receiver again`() async throws {
    let receiver = ScriptedReceiver(speed: 9600, reacting: Self.answer)
    let rig = rig(receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    #expect(bridge.claim(for: "u-center", hasRoom: {}) == nil)
    write(Self.faster)
    // The client has left before its message was sent.
    bridge.release()
    #expect(await rig.started.first(2) == [.b9600, .b38400])
    #expect(receiver.requests.values.contains(Self.faster))
    await rig.finish()
    receiver.end()
  }

  @Test func `half a message of a client does not swallow the hub's next command`() async throws {
    let receiver = ScriptedReceiver(reacting: Self.answer)
    let rig = rig(receiver)
    try rig.start()
    #expect(await rig.started.first(1) == [.b9600])
    let before = receiver.requests.values.count
    #expect(bridge.claim(for: "u-center", hasRoom: {}) == nil)
    // Two of twenty bytes, and the checksum, are missing.
    let half = [0xB5, 0x62, 0x0A, 0x09, 20, 0] + [UInt8](repeating: 1, count: 18)
    write(half)
    bridge.release()
    #expect(await rig.started.first(2) == [.b9600, .b9600])
    let after = receiver.requests.values.dropFirst(before)
    #expect(after.first == half + [0xFF, 0xFF, 0xFF, 0xFF])
    #expect(after.dropFirst().map(Self.kind) == [0x0A04, 0x2703, 0x0608, 0x0608])
    await rig.finish()
    receiver.end()
  }

  @Test(
    arguments: [
      ([], 0), (faster, 0), (Array("$PUBX,40,GL".utf8), 0), ([0xB5], 1), ([0xB5, 0x62], 6),
      ([0xB5, 0x62, 6, 0, 2, 0, 1], 3), ([0xB5, 0xB5, 0x62, 6, 0, 0, 0], 2), ([0xBA, 0xCE, 4, 0, 6, 0], 8),
      ([0xD3, 0, 4, 1], 6), (faster + [0xB5, 0x62, 6, 0, 0xFF, 0xFF], HalfMessage.longestFiller),
    ] as [([UInt8], Int)])
  func `the filler is as long as the rest of the message`(_ bytes: [UInt8], _ count: Int) {
    var whole = HalfMessage()
    whole.take(bytes[...])
    #expect(whole.filler.count == count)
    var parts = HalfMessage()
    for byte in bytes { parts.take([byte]) }
    #expect(parts.filler == whole.filler)
  }

  @Test func `a client reaches a receiver that is silent at the start, for example after another client`() throws {
    let clock = ManualClock()
    let port = SlowPort(clock, bytesPerTenth: 1000)
    let stop = StopSignal()
    let receiver = SerialReceiver(
      port: port, poller: Poller(stop: stop.fileDescriptor), clock: clock, bridge: bridge)
    let session = ReceiverSession(
      ReceiverConfiguration(driver: .ublox, speed: .b38400), ReceiverMemory(), receiver, suppliedSince: clock.now,
      delegate: SessionReports())
    #expect(throws: HardwareError.self) { try session.start() }
    #expect(bridge.claim(for: "u-center", hasRoom: {}) == nil)
    write(Self.faster)
    #expect(try session.start() == .b38400 && session.run())
    bridge.release()
    #expect(try session.relay())
    #expect(port.sent.values.suffix(Self.faster.count).elementsEqual(Self.faster))
    // It is still silent, so the run ends with the reason.
    #expect(throws: HardwareError.self) { try session.start() }
  }

  @Test func `bytes that a receiver does not take for three minutes are dropped, and their client is told`() {
    let clock = ManualClock()
    let bridge = ReceiverBridge(clock: clock)
    let lost = Recorder<Bool>()
    #expect(bridge.claim(for: "a", hasRoom: {}, lostBytes: { lost.append(true) }) == nil)
    [1, 2, 3].withUnsafeBufferPointer(bridge.write)
    clock.advance(by: .seconds(100))
    #expect(bridge.take(atMost: 1) == [1])
    // The receiver has taken a byte, so the others may wait for three minutes from now on.
    clock.advance(by: .seconds(100))
    #expect(bridge.waitingCount == 2 && lost.values.isEmpty)
    clock.advance(by: .seconds(80))
    #expect(!bridge.hasWaiting && lost.values == [true])
    [4].withUnsafeBufferPointer(bridge.write)
    clock.advance(by: .seconds(170))
    #expect(bridge.take(atMost: 10) == [4])
    clock.advance(by: .seconds(3600))
    #expect(lost.values == [true] && clock.waitingCount == 0)
  }

  @Test func `a client that has left is notified once, by the first event that ends the search for the receiver`() {
    let clock = ManualClock()
    let bridge = ReceiverBridge(clock: clock)
    let settled = Recorder<String>()
    /// Lets a client write something and leave.
    func visit(_ bytes: [UInt8], _ name: String) {
      #expect(bridge.claim(for: name, hasRoom: {}) == nil)
      bytes.withUnsafeBufferPointer(bridge.write)
      bridge.release { settled.append(name) }
    }
    visit([], "wrote nothing")
    #expect(settled.values == ["wrote nothing"])
    visit([1], "found")
    bridge.receiverFound()
    #expect(settled.values.count == 1)
    #expect(bridge.take(atMost: 1) == [1])
    bridge.receiverFound()
    #expect(settled.values.last == "found")
    visit([1], "off")
    bridge.readingEnded()
    #expect(settled.values.last == "off")
    visit([1], "replaced")
    // The next client keeps the receiver awake.
    visit([1], "forgotten")
    #expect(settled.values.last == "replaced")
    clock.advance(by: .seconds(180))
    #expect(settled.values == ["wrote nothing", "found", "off", "replaced", "forgotten"] && !bridge.isInUse)
  }

  @Test func `one client writes at a time`() {
    #expect(bridge.claim(for: "a", hasRoom: {}) == nil)
    #expect(bridge.claim(for: "b", hasRoom: {}) == "a")
    bridge.release()
    #expect(bridge.claim(for: "b", hasRoom: {}) == nil)
  }

  @Test func `a client must wait while its bytes wait, and is notified when it may continue`() {
    let told = Recorder<Bool>()
    #expect(bridge.claim(for: "a", hasRoom: { told.append(true) }) == nil)
    write([UInt8](repeating: 1, count: ReceiverBridge.mostWaiting + 100))
    #expect(bridge.isFull)
    #expect(bridge.take(atMost: 50).count == 50)
    #expect(bridge.isFull && told.values.isEmpty)
    #expect(bridge.take(atMost: 256).count == 256)
    #expect(!bridge.isFull && told.values == [true])
    #expect(bridge.take(atMost: 256).count == 256)
    #expect(told.values.count == 1)
    // The client may leave once its last byte is taken.
    #expect(bridge.take(atMost: 10_000).count == 7730 && told.values.count == 2 && !bridge.hasWaiting)
    #expect(bridge.take(atMost: 1).isEmpty && told.values.count == 2)
  }

  @Test func `bytes of a client that has left are dropped when the receiver is no longer read`() {
    #expect(bridge.claim(for: "a", hasRoom: {}) == nil)
    write([1, 2, 3])
    bridge.readingEnded()
    #expect(bridge.isInUse && bridge.take(atMost: 1) == [1])
    bridge.release()
    #expect(bridge.isInUse)
    bridge.readingEnded()
    #expect(!bridge.isInUse && bridge.take(atMost: 10).isEmpty)
  }

  /// A silent receiver on a line that accepts some bytes each tenth of a second.
  private final class SlowPort: SerialPort {
    let name = "slow"
    // The descriptor is always readable.
    let fileDescriptor = open("/dev/zero", O_RDONLY | O_CLOEXEC)
    let sent = Recorder<UInt8>()
    private let clock: ManualClock
    private let bytesPerTenth: Int
    private let room = Guarded(0)

    init(_ clock: ManualClock, bytesPerTenth: Int) { (self.clock, self.bytesPerTenth) = (clock, bytesPerTenth) }

    deinit { Glibc.close(fileDescriptor) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      clock.advance(by: .milliseconds(100))
      room.withLock { $0 = bytesPerTenth }
      return 0
    }

    func write(_ bytes: [UInt8]) { for byte in bytes { sent.append(byte) } }
    func writeNow(_ bytes: ArraySlice<UInt8>) -> Int {
      let taken = room.withLock { room in
        let count = min(room, bytes.count)
        room -= count
        return bytes.prefix(count)
      }
      write(Array(taken))
      return taken.count
    }
    var unsentCount: Int { 0 }
    func setSpeed(_ speed: BaudRate) {}
    func close() {}
  }

  /// Relays the bytes that a departed client has left, until the hub may use the receiver's line again.
  private func relay(_ bytes: [UInt8], bytesPerTenth: Int) throws -> (sent: [UInt8], time: Duration) {
    #expect(bridge.claim(for: "a", hasRoom: {}) == nil)
    write(bytes)
    bridge.release()
    let clock = ManualClock()
    let port = SlowPort(clock, bytesPerTenth: bytesPerTenth)
    let stop = StopSignal()
    let receiver = SerialReceiver(
      port: port, poller: Poller(stop: stop.fileDescriptor), clock: clock, bridge: bridge)
    try receiver.setSpeed(.b4800)
    let startedAt = clock.now
    #expect(try receiver.relay { _ in })
    return (port.sent.values, clock.now - startedAt)
  }

  @Test func `a slow line sends all bytes of a client that has left`() throws {
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    let (sent, time) = try relay(bytes, bytesPerTenth: 48)
    #expect(sent == bytes && time > .seconds(20))
  }

  @Test func `the hub takes back a line that accepts nothing after a while`() throws {
    let (sent, time) = try relay([1, 2, 3], bytesPerTenth: 0)
    #expect(sent.isEmpty && !bridge.isInUse && time > .seconds(10) && time < .seconds(12))
  }

  private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
  }
}
