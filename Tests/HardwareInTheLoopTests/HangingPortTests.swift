import Glibc
import MonotonicTime
import TestSupport
import Testing
import VirtualBench

/// A serial port whose line is blocked.
extension HardwareInTheLoop.HangTests {
  @Test func `a close waits half a minute for a blocked line, but the hub's close takes less than a second`() throws {
    board.free()
    board.port.setBlocked(true)
    let port = open(board.port.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    try #require(port >= 0, "opening \(board.port.path): \(errno)")
    #expect(write(port, "blocked", 7) == 7)
    let closing = clock.now
    close(port)
    let plain = clock.now - closing
    #expect(plain > .seconds(20), "the bench's port does not wait for its line: \(plain)")

    let hub = hub(["gps"])
    board.port.setBlocked(true)
    let subscriber = Subscriber(hub)
    #expect(eventually { hub.devicesNow["gps"].counters["sentences"] ?? 0 > 0 }, "\(describe(hub))")
    let unsent = try unsentCount()
    #expect(unsent > 0, "the hub has sent no command: \(describe(hub))")
    let left = clock.now
    subscriber.leave()
    #expect(eventually(within: .seconds(60)) { hub.openDevices.isEmpty }, "\(hub.openDevices), \(describe(hub))")
    let fall = try line("gps").falls.last.map { $0 - left }
    #expect(fall.map { $0 < .seconds(1) } == true, "the line fell after \(fall as Any): \(describe(hub))")
    Bench.saw(
      "blocked line: close of a plain program \(Bench.milliseconds(plain)); hub: \(unsent) bytes unsent, power off "
        + "\(fall.map(Bench.milliseconds) ?? "never") after the last client left")
    let ending = end(hub)
    #expect(ending < Self.longestEnd, "\(ending)")
    clearUp(after: hub, "a blocked line")
  }

  /// The number of bytes that the hub has written and its line has not sent.
  private func unsentCount() throws -> Int {
    let port = open(board.port.path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    try #require(port >= 0, "opening \(board.port.path): \(errno)")
    // The hub has the port open too, so that this close does not wait.
    defer { close(port) }
    var count: Int32 = 0
    return ioctl(port, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : -1
  }
}
