import Glibc
import HardwareIO
import TestSupport
import Testing

@Suite struct TestRunGuardianTests {
  @Test func `programs of a killed test run are killed, in whatever session and group`() {
    let mark = "guardian-tests-\(getpid())"
    let guardian = TestRunGuardian(mark: mark)
    // The process leads its own session, and its child leads another one.
    let script = "setsid sleep 1000 & echo $!; exec sleep 1000"
    let program = Program(
      ["sh", "-c", script], path: "/usr/bin/setsid", environment: ["\(TestRunGuardian.variable)=\(mark)"])
    let unmarked = Program(["1000"], path: "/bin/sleep")
    #expect(eventually { program.lines.count == 1 })
    let child = program.lines.first.flatMap { pid_t($0) } ?? 0
    #expect(child > 0 && kill(child, 0) == 0)

    guardian.endRun()

    #expect(program.wait() == -SIGKILL)
    // The environment of an ended process is empty, even before init has collected it.
    #expect(eventually { ((try? Files.bytes(of: "/proc/\(child)/environ")) ?? []).isEmpty })
    #expect(unmarked.isRunning)
  }
}
