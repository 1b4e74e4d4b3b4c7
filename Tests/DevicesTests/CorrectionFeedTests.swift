import Glibc
import Guarding
import HardwareIO
import TestSupport
import Testing

@testable import Devices

/// Corrections are sent to a receiver as fast as its line carries them, and no code waits for them.
struct CorrectionFeedTests {
  /// A line with a limited capacity.
  private final class SlowPort: SerialPort {
    private struct State {
      var room: Int
      var written: [UInt8] = []
      var unsent = 0
    }

    let name = "slow"
    let fileDescriptor: Int32 = -1
    private let state: Guarded<State>

    init(room: Int) { state = Guarded(State(room: room)) }

    var written: [UInt8] { state.withLock { $0.written } }
    var unsentCount: Int {
      get { state.withLock { $0.unsent } }
      set { state.withLock { $0.unsent = newValue } }
    }

    func makeRoom(_ count: Int) { state.withLock { $0.room = count } }
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }
    func write(_ bytes: [UInt8]) { state.withLock { $0.written += bytes } }
    func writeNow(_ bytes: ArraySlice<UInt8>) -> Int {
      state.withLock { state in
        let taken = bytes.prefix(state.room)
        state.room -= taken.count
        state.written += taken
        return taken.count
      }
    }
    func setSpeed(_ speed: BaudRate) {}
    func close() {}
  }

  private let queue = CorrectionQueue()

  @Test func `a message is sent in the pieces that the line accepts, before the next message`() throws {
    let messages = [MadeMessage.correction(1005), MadeMessage.correction(1077, byteCount: 100)]
    for message in messages { queue.put(message) }
    let port = SlowPort(room: 10)
    var feed = CorrectionFeed(queue)
    var looks = 0
    while let pause = try feed.write(to: port, at: .b9600) {
      #expect(pause > .zero && pause < .seconds(1))
      port.makeRoom(10)
      looks += 1
    }
    #expect(port.written == messages.flatMap { $0 } && looks > 10 && queue.lostCount == 0)
  }

  @Test func `no message begins while many bytes are unsent, and the pause lasts until they are sent`() throws {
    queue.put(MadeMessage.correction(1005))
    let port = SlowPort(room: 1000)
    var feed = CorrectionFeed(queue)
    port.unsentCount = 64 + 96
    // A byte takes ten bits.
    #expect(try feed.write(to: port, at: .b9600) == .milliseconds(100))
    #expect(port.written.isEmpty)
    port.unsentCount = 64
    #expect(try feed.write(to: port, at: .b9600) == nil)
    #expect(!port.written.isEmpty)
  }

  @Test func `if the line is too slow, the oldest messages are dropped completely and counted`() throws {
    let messages = (0..<100).map { MadeMessage.correction(UInt16(1001 + $0), byteCount: 250) }
    for message in messages { queue.put(message) }
    let port = SlowPort(room: .max)
    var feed = CorrectionFeed(queue)
    #expect(try feed.write(to: port, at: .b9600) == nil)
    let kept = messages.suffix(8192 / messages[0].count)
    #expect(port.written == kept.flatMap { $0 })
    #expect(queue.lostCount == 100 - kept.count)
  }

  @Test func `a begun message is completed before other bytes are sent`() throws {
    let message = MadeMessage.correction(1005)
    queue.put(message)
    queue.put(message)
    let port = SlowPort(room: 5)
    var feed = CorrectionFeed(queue)
    #expect(try feed.write(to: port, at: .b9600) != nil)
    feed.finish(on: port)
    feed.finish(on: port)
    #expect(port.written == message)
    queue.clear()
    #expect(try feed.write(to: port, at: .b9600) == nil)
    #expect(queue.lostCount == 0)
  }
}
