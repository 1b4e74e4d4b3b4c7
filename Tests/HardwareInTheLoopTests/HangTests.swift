import Glibc
import HardwareIO
import MonotonicTime
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Calls to the kernel that do not return: transfers to a chip, the switching of a line on a GPIO expander, and the
  /// close of a serial port.
  ///
  /// A hanging transfer cannot be interrupted, even by SIGKILL. A process with such a thread has ended when all its
  /// other threads have ended. The kernel keeps the process's number until the transfer returns.
  ///
  /// Each file of these tests is about one kind of hanging call. All tests use one board, one after another.
  @Suite(
    .serialized, .timeLimit(.minutes(600)), .enabled(if: Bench.isVirtual, "these need devices that can be told to hang")
  )
  struct HangTests {
    private static let shared: HangingBoard = {
      do {
        return try HangingBoard(label: "hanging")
      } catch {
        fatalError("the bench has no devices that hang: \(error)")
      }
    }()

    static let allDevices = ["gps", "imu", "spare", "baro"]
    /// The limit for the end of a hub after SIGTERM, whichever call hangs.
    static let longestEnd = Duration.seconds(5)
    /// How long a reader of a chip may stay in a call to the kernel, and the time until the next check.
    static let patience = Duration.seconds(2)
    static let checks = Duration.seconds(1)

    let board = HangTests.shared
    let clock = MonotonicClock()

    /// A hub on these devices. Nothing hangs, the lines are low and their history is empty when this returns.
    func hub(_ ids: [String] = HangTests.allDevices, environment: [String] = []) -> HubProcess {
      board.free()
      let hub = HubProcess(board: board.boardFile(ids), environment: ["SWIFT_BACKTRACE=enable=no"] + environment)
      #expect(eventually { board.areLinesLow }, "before the first client: \(describe(hub))")
      for line in board.lines.values { line.restart() }
      return hub
    }

    func line(_ id: String) throws -> LineHistory { try #require(board.lines[id]) }

    func isOn(_ id: String) -> Bool { board.lines[id]?.isHigh ?? false }

    /// The devices as the hub and the meter see them.
    func describe(_ hub: HubProcess) -> String {
      let log = hub.program.standardError.split(separator: "\n").suffix(8).joined(separator: "\n  ")
      let devices =
        hub.program.isRunning && !hasEnded(hub)
        ? hub.devicesNow.devices.map { "\($0.id) \($0.power) (\($0.reason)) for \($0.holders)" }.joined(separator: ", ")
        : "the hub has ended"
      return "lines: \(board.levels); devices: \(devices); log:\n  \(log)"
    }

    /// Whether all threads have ended except those that hang in the kernel.
    func hasEnded(_ hub: HubProcess) -> Bool {
      if !hub.program.isRunning { return true }
      guard let status = try? Files.bytes(of: "/proc/\(hub.program.pid)/stat") else { return true }
      // The state follows the name, which is in parentheses.
      return status.lastIndex(of: UInt8(ascii: ")")).map { status.dropFirst($0 + 2).first == UInt8(ascii: "Z") } ?? true
    }

    /// Sends a signal and waits for the end. Returns the time in between.
    func end(_ hub: HubProcess, _ signal: Int32 = SIGTERM) -> Duration {
      let asked = clock.now
      hub.program.send(signal)
      #expect(
        eventually(within: .seconds(120)) { hasEnded(hub) },
        "the hub runs two minutes after the signal: \(describe(hub))"
      )
      return clock.now - asked
    }

    /// Ends all hangs, waits until the kernel has removed an ended hub, and makes its board safe as the unit does.
    func clearUp(after hub: HubProcess, _ what: String) {
      board.free()
      let code = hub.program.wait()
      let safe = Program(["safe", hub.boardFile])
      let safeCode = safe.wait()
      #expect(safeCode == 0, "\(what): the hub ended with \(code), safe said: \(safe.standardError)")
      #expect(eventually(within: .seconds(30)) { board.areLinesLow }, "\(what): after safe: \(describe(hub))")
    }

    func wait(milliseconds: Int) { _ = poll(nil, 0, Int32(milliseconds)) }
  }
}
