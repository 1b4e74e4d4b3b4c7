import Glibc
import HardwareIO
import TestSupport
import Testing

/// SIGHUP asks for the board file to be read again, unless it says that the terminal is gone.
@Suite(.serialized, .timeLimit(.minutes(10)))
final class HangUpTests {
  private let temporary = TemporaryFolder("hang-up")
  private var folder: String { temporary.path }
  private var socket: String { folder + "/hub.sock" }
  private var log: String { text(folder + "/log") }
  private var pid: pid_t? { pid_t(text(folder + "/pid").filter(\.isNumber)) }
  private var isRunning: Bool {
    guard let pid, case let status = text("/proc/\(pid)/stat"), !status.isEmpty else { return false }
    // A process may have ended although nothing has waited for it.
    return !status.contains(") Z ")
  }

  private func text(_ path: String) -> String {
    (try? Files.bytes(of: path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  init() {
    HubProcess.write(HubProcess.simulatedBoard("journal: { state: true }"), to: folder + "/board.json5")
  }

  deinit {
    if isRunning, let pid { kill(pid, SIGKILL) }
  }

  /// A command that starts the hub, which then reads its devices.
  private func command(_ prefix: String = "") -> String {
    let run = "\(Program.sensorhub) run --socket \(socket) --board \(folder)/board.json5"
    return "sh -c 'echo $$ >\(folder)/pid; exec \(prefix) \(run) >\(folder)/output 2>>\(folder)/log'"
  }

  /// Blocks until the hub's files, or those of its shell, meet a condition.
  private func waits(_ isMet: () -> Bool) -> Bool { FileChanges.wait(in: folder) { isMet() } }

  private func waitUntilItReads() { #expect(waits { log.contains("fused  ") }, "\(log)") }

  /// Blocks until the hub has ended. The hub is not a child of this process.
  private func ends() -> Bool { pid.map { ProcessEnd.wait(for: $0) } ?? false }

  /// Whether a SIGHUP is pending for the hub, so that the hub's code has not handled it yet. A second SIGHUP would be
  /// merged with it.
  private var hasPendingHangUp: Bool {
    guard let pid else { return false }
    let lines = text("/proc/\(pid)/status").split(separator: "\n")
    let pending = lines.first { $0.hasPrefix("ShdPnd:") }?.dropFirst("ShdPnd:".count).filter(\.isHexDigit) ?? "0"
    return (UInt64(pending, radix: 16) ?? 0) & (1 << UInt64(SIGHUP - 1)) != 0
  }

  private func readAgain() {
    #expect(eventually { !hasPendingHangUp })
    if let pid { kill(pid, SIGHUP) }
    #expect(waits { log.contains("board 'test' reloaded") }, "\(log)")
    #expect(isRunning)
  }

  @Test func `a hub started in a terminal ends with the terminal, and its power is off`() {
    let terminal = TerminalSession(command())
    waitUntilItReads()
    readAgain()
    terminal.close()
    #expect(ends())
    #expect(log.contains("stopped; all power lines are off"), "\(log)")
  }

  @Test func `a hub in the background of a shell ends with the terminal, and its power is off`() {
    let terminal = TerminalSession("bash --norc -i")
    terminal.type(command() + " &")
    waitUntilItReads()
    readAgain()
    terminal.close()
    #expect(ends())
    #expect(log.contains("stopped; all power lines are off"), "\(log)")
  }

  @Test func `a hub disowned by its shell takes a hang-up as a reload, and does not end`() {
    let terminal = TerminalSession("bash --norc -i")
    terminal.type(command() + " & disown -h; echo >\(folder)/let-go")
    waitUntilItReads()
    // Before this file exists, the process would end with the shell, even if the hub has started.
    #expect(waits { access(folder + "/let-go", F_OK) == 0 })
    terminal.close()
    readAgain()
    if let pid { kill(pid, SIGTERM) }
    #expect(ends())
  }

  @Test func `a hub under nohup survives its terminal`() {
    // A shell keeps the terminal open. If nohup were the terminal's only process, it would close the terminal before it
    // ignores SIGHUP.
    let terminal = TerminalSession("bash --norc -i")
    terminal.type(command("nohup") + " &")
    waitUntilItReads()
    terminal.close()
    #expect(!log.contains("reloaded"))
    readAgain()
    if let pid { kill(pid, SIGTERM) }
    #expect(ends())
    // The file was read once: the signal from the terminal had no effect, however late it came.
    #expect(log.split(separator: "reloaded", omittingEmptySubsequences: false).count == 2, "\(log)")
    #expect(log.contains("stopped; all power lines are off"), "\(log)")
  }
}
