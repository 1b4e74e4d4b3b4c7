import Testing

@testable import HardwareIO

/// The time that a serial line may take to send its last bytes before it is closed.
struct SerialDrainTests {
  @Test func `closing a port waits for a line that still sends, and drops the data of a blocked line`() {
    var empty = SerialDrain()
    #expect(empty.look(unsent: 0) == .done)
    var moving = SerialDrain()
    #expect(moving.look(unsent: 24) == .wait(milliseconds: 25))
    #expect(moving.look(unsent: 12) == .wait(milliseconds: 25))
    #expect(moving.look(unsent: 0) == .done)
    var blocked = SerialDrain()
    #expect(blocked.look(unsent: 24) == .wait(milliseconds: 25))
    #expect(blocked.look(unsent: 24) == .drop)
  }

  @Test func `closing a port waits at most a second`() {
    var slow = SerialDrain()
    let steps = (1...100).map { slow.look(unsent: 4096 - $0) }
    #expect(steps.firstIndex(of: .drop) == 40)
  }
}
