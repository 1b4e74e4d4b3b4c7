import FoundationEssentials
import Glibc
import TestSupport

/// A hub that a shell starts, for conditions that only a shell can set up.
final class ShellHub {
  let program: Program
  private let temporary = TemporaryFolder("shell")
  var folder: String { temporary.path }
  var socket: String { folder + "/hub.sock" }

  /// - Parameters:
  ///   - script: the commands; `"$@"` starts the hub
  ///   - prepare: called with the folder before the start
  init(_ script: String, board: String, prepare: (_ folder: String) -> Void = { _ in }) {
    let folder = temporary.path
    HubProcess.write(board, to: folder + "/board.json5")
    prepare(folder)
    program = Program(
      [
        "-c", script, "sh", Program.sensorhub, "run", "--socket", folder + "/hub.sock", "--board",
        folder + "/board.json5",
      ], path: "/bin/sh", environment: ["FOLDER=\(folder)", "STATE_DIRECTORY=\(folder)/state"])
    // The log may not be readable, so the socket shows that the hub has started.
    _ = FileChanges.wait(in: folder) { access(socket, F_OK) == 0 }
  }

  deinit {
    if program.isRunning { program.send(SIGKILL) }
    program.wait()
  }

  /// The hub's devices, if it answers.
  var devices: HubProcess.Devices? {
    guard access(folder + "/devices.sock", F_OK) == 0 else { return nil }
    let client = SocketClient(path: folder + "/devices.sock")
    _ = client.waitsForEnd()
    return try? JSONDecoder().decode(HubProcess.Devices.self, from: Data(client.bytes))
  }

  var isOff: Bool { devices?.devices.allSatisfy { $0.power == "off" || $0.power == "asleep" } == true }

  /// Waits until all devices are off, or asleep if their power cannot be switched.
  func comesToRest() -> Bool { eventually { isOff } }

  /// Waits until the hub's log contains `text`. Returns false if the hub ends without it.
  func logs(_ text: String) -> Bool { program.logs(text) }
}
