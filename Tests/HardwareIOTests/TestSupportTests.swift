import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

/// The test support that all modules' tests rely on.
@Suite(.timeLimit(.minutes(10))) struct TestSupportTests {
  @Test func `a program under test inherits nothing but its three streams`() {
    // Another test or a library may have a file open at this moment.
    let stranger = open("/dev/null", O_RDONLY)
    defer { close(stranger) }
    let program = Program(["/proc/self/fd"], path: "/bin/ls")
    #expect(program.wait() == 0)
    // The fourth descriptor is the folder that is being listed.
    #expect(program.lines == ["0", "1", "2", "3"])
  }

  @Test func `a program that does not end is killed`() {
    let program = Program(["1000"], path: "/bin/sleep")
    #expect(program.wait(within: .milliseconds(20)) == -SIGKILL)
    #expect(!program.isRunning)
  }

  @Test func `a cancelled test stops waiting`() async {
    let recorder = Recorder<Int>()
    recorder.append(1)
    let waiting = Task { await recorder.values { $0.count > 1 } }
    waiting.cancel()
    #expect(await waiting.value == [1])
  }

  @Test func `a waiting thread is woken by the value that it waits for`() {
    let recorder = Recorder<Int>()
    let error = DetachedThread.start("values") { for value in 1...3 { recorder.append(value) } }
    #expect(error == 0)
    #expect(recorder.waits { $0.last == 3 })
    #expect(!recorder.waits(within: .milliseconds(20)) { $0.count > 3 })
  }

  @Test(arguments: [
    MadeMessage.ubx(0x0A04, []), MadeMessage.casic(0x0604, [200, 0, 0, 0]), Array("$PMTK605*31\r\n".utf8),
  ])
  func `a scripted receiver gets complete requests, however reads split them`(_ request: [UInt8]) async throws {
    let receiver = ScriptedReceiver { _ in .silence }
    defer { receiver.end() }
    let port = try LinuxSerialPort(receiver.path, speed: .b9600)
    defer { port.close() }
    try port.write([0xFF] + request)
    for piece in [request[..<3], request[3..<7], request[7...]] {
      try port.write(Array(piece))
      // The receiver continues: there was nothing more to read.
      let steps = Recorder<Void>()
      _ = receiver.clock.schedule(at: receiver.clock.now + .milliseconds(101)) { steps.append(()) }
      #expect(steps.waits { !$0.isEmpty })
    }
    #expect(await receiver.requests.first(2) == [request, request])
  }

  @Test func `the random numbers of a test repeat with the same seed, and differ between tests`() {
    var (first, again, other) = (SeededRandom(for: "one"), SeededRandom(for: "one"), SeededRandom(for: "another"))
    let numbers = (0..<8).map { _ in first.next() }
    #expect((0..<8).map { _ in again.next() } == numbers)
    #expect((0..<8).map { _ in other.next() } != numbers)
  }
}
