import Glibc
import TestSupport
import Testing

/// A hub whose log has no reader.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LoggingTests {
  /// A full named pipe without a reader.
  private final class StuckPipe {
    private let descriptor: Int32

    init(_ path: String) {
      unlink(path)
      mkfifo(path, 0o600)
      // The pipe is opened for reading and writing, so that opening does not wait for the other end.
      descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      precondition(descriptor >= 0)
    }

    deinit { close(descriptor) }

    /// Fills the pipe, so that a writer waits.
    func fill() {
      for size in [4096, 1] {
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        while write(descriptor, bytes, size) > 0 {}
      }
    }
  }

  @Test(arguments: [true, false])
  func `if the log cannot be written, devices are still powered off in time and the hub ends`(
    _ isFullFromTheStart: Bool
  )
    throws
  {
    var stuck: StuckPipe?
    let hub = ShellHub("exec \"$@\" 2>\"$FOLDER/log\"", board: HubProcess.simulatedBoard("")) { folder in
      stuck = StuckPipe(folder + "/log")
      if isFullFromTheStart { stuck?.fill() }
    }
    #expect(hub.comesToRest())
    stuck?.fill()
    for visit in 1...3 {
      let client = SocketClient(path: hub.socket)
      let isServed = client.receives("\"mode\":\"fused\"")
      #expect(isServed, "visit \(visit)")
      client.leave()
      // The idle timeout is 0.2 s, and a wait for the log's reader would never end.
      let isOff = hub.comesToRest()
      #expect(isOff, "visit \(visit): \(hub.devices?["gps"].power ?? "no answer")")
      guard isServed, isOff else { break }
    }
    hub.program.send(SIGTERM)
    #expect(hub.program.wait() == 0)
    #expect(access(hub.socket, F_OK) != 0)
  }

  @Test func `mistakes at the start are printed`() {
    let hub = Program(["run", "--board", "/nowhere"])
    #expect(hub.wait() == 66)
    #expect(hub.standardError.contains("cannot read '/nowhere'"))
  }

  @Test func `the last line of a hub that ends is printed`() {
    for _ in 0..<3 {
      let hub = HubProcess(board: HubProcess.simulatedBoard(""))
      #expect(hub.logs("state on"))
      #expect(hub.stop() == 0)
      #expect(hub.program.standardError.hasSuffix("stopped; all power lines are off\n"))
    }
  }
}
