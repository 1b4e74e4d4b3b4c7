import Testing

@testable import HardwareIO

/// The time that a serial line may take to send its last bytes before it is closed.
struct SerialDrainTests {
  @Test func `a moving line is waited for, and a blocked one is dropped`() {
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

  @Test func `a line that takes longer than a second is not waited for`() {
    var slow = SerialDrain()
    let steps = (1...100).map { slow.look(unsent: 4096 - $0) }
    #expect(steps.firstIndex(of: .drop) == 40)
  }
}
