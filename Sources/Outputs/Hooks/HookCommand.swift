import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime

/// Runs a program once, without a shell, with its own input, and waits for it. Use it on a thread that may wait.
///
/// The program gets a process group, and a small environment without the hub's variables, credentials and notification
/// socket of systemd. Its memory is limited. The program runs until it ends, reaches the time limit, or is stopped by
/// the hub. Then its whole group is killed, and with it the processes that have left the group (`HookProcesses`).
struct HookCommand: Sendable {
  enum End: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
    /// The program was killed because it reached the time limit.
    case late
    /// The program was killed because the hub is ending.
    case stopped
    /// The program could not be started; the value is the `errno`.
    case notStarted(Int32)
  }

  struct Result: Sendable {
    var end: End
    /// The first 4096 bytes of the program's standard output and standard error, mixed.
    var output: String
  }

  /// The limit of private writable memory, for each process of the program, in bytes.
  static let memoryByteLimit = UInt64(128 << 20)
  private static let mostOutput = 4096
  private static let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/", HookProcesses.mark]

  /// The path of the program, and its arguments.
  var words: [String]
  /// The program's standard input, at most 64 kB, the capacity of a pipe.
  var input: [UInt8]
  var limit: Duration

  /// - Parameter stop: ends the program early if it is set
  func run(stop: StopSignal) -> Result {
    var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    guard clinux_pipe(&input) == 0 else { return Result(end: .notStarted(errno), output: "") }
    defer { for end in input where end >= 0 { close(end) } }
    guard clinux_pipe(&output) == 0 else { return Result(end: .notStarted(errno), output: "") }
    defer { for end in output where end >= 0 { close(end) } }
    // The write cannot block, because the pipe is empty and has room for all bytes. It cannot fail either, because
    // this process holds the read end.
    _ = self.input.withUnsafeBytes { write(input[1], $0.baseAddress, min($0.count, 1 << 16)) }
    close(input[1])
    input[1] = -1
    let (pid, error) = HookProcesses.shared.start { spawn(input: input[0], output: output[1]) }
    close(output[1])
    output[1] = -1
    guard error == 0 else { return Result(end: .notStarted(error), output: "") }
    return wait(for: pid, output[0], stop)
  }

  private func wait(for pid: pid_t, _ output: Int32, _ stop: StopSignal) -> Result {
    let clock = MonotonicClock()
    let deadline = clock.now + limit
    let poller = Poller(stop: stop.fileDescriptor)
    let process = clinux_open_process(pid)
    defer { if process >= 0 { close(process) } }
    var text: [UInt8] = []
    var isOpen = true
    var end: End?
    _ = fcntl(output, F_SETFL, O_NONBLOCK)
    while end == nil {
      let left = deadline - clock.now
      guard left > .zero else {
        end = .late
        break
      }
      // Kernels before 5.3 have no process descriptors. There the hub treats the end of the output as the end of the
      // program.
      let event = poller.wait(for: process >= 0 ? process : output, or: isOpen ? output : nil, atMost: left)
      if event == .stopped { end = .stopped }
      if isOpen { isOpen = HookCommand.read(output, &text) }
      if process >= 0 ? HookCommand.hasEnded(process) : !isOpen { break }
    }
    // Kill the group before waiting for the process: until `waitpid` returns, no other group can have this number.
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    HookProcesses.shared.ended(pid)
    if isOpen { _ = HookCommand.read(output, &text) }
    let signal = status & 0x7f
    let ended = signal == 0 ? End.exited((status >> 8) & 0xff) : .killed(signal: signal)
    return Result(end: end ?? ended, output: String(decoding: text, as: UTF8.self))
  }

  private static func hasEnded(_ process: Int32) -> Bool {
    var descriptor = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    return poll(&descriptor, 1, 0) > 0
  }

  /// Reads the waiting output, up to the capacity of a pipe. The limit is needed because a program that writes
  /// without a pause would keep this thread from checking the time limit and the stop request.
  ///
  /// - Returns: `false` at the end of the output
  private static func read(_ descriptor: Int32, _ text: inout [UInt8]) -> Bool {
    var piece = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<16 {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 { return errno == EAGAIN || errno == EINTR }
      if count == 0 { return false }
      text += piece[..<min(count, max(0, mostOutput - text.count))]
    }
    return true
  }

  private func spawn(input: Int32, output: Int32) -> (pid: pid_t, error: Int32) {
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    let variables: [UnsafeMutablePointer<CChar>?] = HookCommand.environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var pid: pid_t = 0
    let error = clinux_spawn_limited(&pid, arguments, variables, input, output, HookCommand.memoryByteLimit)
    return (pid, error)
  }
}
