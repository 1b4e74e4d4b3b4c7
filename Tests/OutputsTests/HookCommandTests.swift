import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// Programs that hooks run. The tests run one at a time: between its fork and its exec, a program has open files that
/// another test writes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HookCommandTests {
  private let folder = TemporaryFolder("hook-command")

  private func program(_ text: String, mode: mode_t = 0o755) -> String {
    let path = "\(folder.path)/program-\(text.utf8.reduce(0) { $0 &* 31 &+ Int($1) }.magnitude)"
    // If this test run is killed, its guardian finds what a shell script has started.
    let shell = "#!/bin/sh\n"
    let marked = "\(shell)export \(TestRunGuardian.setting)\n\(text.dropFirst(shell.count))"
    HubProcess.write(text.hasPrefix(shell) ? marked : text, to: path)
    chmod(path, mode)
    return path
  }

  private func run(
    _ words: [String], input: String = "", limit: Duration = .seconds(120), stop: StopSignal = StopSignal()
  ) -> HookCommand.Result {
    HookCommand(words: words, input: Array(input.utf8), limit: limit).run(stop: stop)
  }

  /// Runs a command that does not end by itself, past its limit. A busy machine may not start all programs of a script
  /// within a short limit, so the limit grows until the script has written the file.
  private func runTooLong(_ words: [String], writing file: String) -> HookCommand.Result {
    var limit = Duration.seconds(2)
    var result = run(words, limit: limit)
    while text(file).isEmpty, limit < .seconds(100) {
      limit *= 4
      result = run(words, limit: limit)
    }
    return result
  }

  private func deliver(_ words: [String], limit: Duration = .seconds(120)) -> HookOutcome {
    HookSettings.Action.run(words, limit: limit).deliver(HookQueueTests.notice(1), at: nil, stop: StopSignal())
  }

  private func text(_ file: String) -> String {
    String(decoding: (try? Files.bytes(of: file, limit: 1 << 16)) ?? [], as: UTF8.self)
  }

  /// Waits for the end of a process that is not this one's child, so that only the kernel's list of processes shows it.
  private func isGone(_ process: pid_t) -> Bool { eventually { HubProcess.parent(of: process) == nil } }

  @Test func `a hook command gets its input and exact arguments, and nothing of the hub's environment`() {
    setenv("SENSORHUB_TEST_SECRET", "1", 1)
    let path = program("#!/bin/sh\ncat; echo; echo \"$#:$1:$2\"; env\n")
    let result = run([path, "a b", "$(x);'"], input: "{\"class\":\"HOOK\"}")
    #expect(result.end == .exited(0))
    #expect(result.output.hasPrefix("{\"class\":\"HOOK\"}\n2:a b:$(x);'\n"), "\(result.output)")
    #expect(!result.output.contains("SECRET") && result.output.contains("HOME=/\n"), "\(result.output)")
  }

  @Test func `a hook command that runs too long is killed with all programs that it started`() {
    let path = program("#!/bin/sh\nsleep 1000 & echo $! > \"$1\"; wait\n")
    let file = "\(folder.path)/child"
    #expect(runTooLong([path, file], writing: file).end == .late)
    let child = pid_t(text(file).filter(\.isNumber))
    #expect(child.map(isGone) ?? false)
  }

  @Test func `programs that a hook command leaves running are ended with it`() {
    let path = program("#!/bin/sh\nsleep 1000 & echo $! > \"$1\"\n")
    let file = "\(folder.path)/left"
    #expect(run([path, file]).end == .exited(0))
    let child = pid_t(text(file).filter(\.isNumber))
    #expect(child.map(isGone) ?? false)
  }

  @Test(arguments: [
    // The scripts start, in this order: the child of a program that still runs, an orphan, the child of an orphan, and
    // a program without the environment of hooks, which the script starts at once.
    "setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' \"$1\" & wait",
    "setsid sh -c 'sleep 1000 & echo $! > \"$0\"' \"$1\" & sleep 1000",
    "setsid sh -c 'setsid sh -c \"sleep 1000; true\" & echo $! > \"$0\"; sleep 1000' \"$1\" & sleep 1000",
    "env -i \(TestRunGuardian.setting) setsid sh -c 'echo $$ > \"$0\"; exec sleep 1000' \"$1\" & wait",
  ])
  func `programs that leave the group of a hook command that runs too long are killed too`(_ script: String) {
    let file = "\(folder.path)/away"
    unlink(file)
    #expect(runTooLong([program("#!/bin/sh\n\(script)\n"), file], writing: file).end == .late)
    let child = pid_t(text(file).filter(\.isNumber))
    #expect(child.map { HubProcess.parent(of: $0) == nil } == true)
  }

  @Test func `a program that outlives its hook command is ended with it, and other processes are not`() {
    let other = Program(["sleep", "1000"], path: "/usr/bin/env")
    let path = program("#!/bin/sh\nsetsid sh -c 'sleep 1000 & echo $! > \"$0\"' \"$1\"\n")
    let file = "\(folder.path)/gone"
    #expect(run([path, file]).end == .exited(0))
    let child = pid_t(text(file).filter(\.isNumber))
    #expect(child.map { HubProcess.parent(of: $0) == nil } == true)
    #expect(HubProcess.parent(of: other.pid) == getpid())
    other.send(SIGKILL)
    other.wait()
  }

  @Test func `the end of the hub ends a running hook command`() {
    let stop = StopSignal()
    stop.set()
    #expect(run([program("#!/bin/sh\nexec sleep 1000\n")], stop: stop).end == .stopped)
  }

  @Test func `the memory of a hook command is limited`() {
    let path = program(
      """
      #!/usr/bin/python3
      try:
          bytearray(512 << 20)
          print("had it")
      except MemoryError: print("no memory")

      """)
    #expect(run([path]).output == "no memory\n")
  }

  @Test func `only the first part of a hook command's endless output is kept`() {
    let result = run([program("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x\n")])
    #expect(result.end == .exited(0) && result.output.utf8.count == 4096)
  }

  @Test func `a hook command's exit status decides whether it is run again, and a failure says what to do`() {
    #expect(deliver([program("#!/bin/sh\nexit 0\n")]) == .taken)
    let again = program("#!/bin/sh\necho busy; exit 75\n")
    #expect(deliver([again]) == .failed("\(again) asked to be run again (status 75): busy", isRefusal: false))
    let wrong = program("#!/bin/sh\necho no siren >&2; exit 3\n")
    #expect(deliver([wrong]) == .givenUp("\(wrong) ended with status 3: no siren"))
    let dead = program("#!/bin/sh\nkill -9 $$\n")
    #expect(deliver([dead]) == .givenUp("\(dead) was killed by signal 9"))
    guard case .givenUp(let missing) = deliver(["/nowhere/at/all"]) else {
      Issue.record("a program that is not there is no success")
      return
    }
    #expect(
      missing.hasPrefix("/nowhere/at/all cannot be run: No such file or directory; check its path"), "\(missing)")
    let late = program("#!/bin/sh\nexec sleep 999\n")
    #expect(deliver([late], limit: .seconds(2)) == .givenUp("\(late) was killed: it ran longer than 2.0 s"))
  }
}
