import ArgumentParser
import Glibc
import HardwareIO
import Hub
import Outputs
import Simulation

/// Drives every power line of a board to its safe level, and puts chips without a power line to sleep, if a hub has
/// ended without doing so.
struct Safe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drive every power line of a board to its safe level, and put chips without a power line to sleep.",
    discussion: """
      A hub does this whenever it stops. If it is killed or crashes it cannot, and some kernels keep a line's last level, \
      so the systemd unit runs this command after every stop. The command reads the devices of that hub from the copy of \
      its board file next to its socket; if you name a board file, the command also drives the lines of that file. If a \
      running hub uses one of these lines, ports and chips, the command changes nothing and fails. It does not disturb a \
      hub that uses other ones.

      Example: sensorhub safe /etc/sensorhub/board.json5
      """)

  @Argument(help: "The board file. Default: the copy that a killed hub has left.")
  var board: String?

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  func run() throws {
    let path = socket.map(SocketPath.init) ?? .standard
    let running = (socket == nil ? SocketPath.candidates : [path]).compactMap(RunningHub.init)
    let isRunning = running.contains { $0.path == path }
    let named: Board?
    do {
      named = try board.map { try BoardSource(file: $0).load() }
    } catch {
      // Even if the board file is invalid, the devices of an earlier hub must be switched off.
      if !isRunning { _ = try? boardInUse(path)?.makeSafe(SimulatedHardware()) }
      throw error
    }
    if isRunning, named == nil { throw Safe.refusal(path, "controls its own devices") }
    if let named {
      for hub in running {
        let shared = hub.board.map { BoardConnections.shared(named, $0) } ?? []
        if !shared.isEmpty {
          throw Safe.refusal(hub.path, "uses devices of this board: \(shared.joined(separator: ", "))")
        }
      }
    }
    let left = isRunning ? nil : try boardInUse(path)
    let report = makeSafe(left, named, SimulatedHardware())
    guard report.problems.isEmpty else {
      throw CommandError(
        .unavailable, report.problems.joined(separator: "\n"),
        nextStep: report.isHeld
          ? "a line that is in use belongs to a running hub: sensorhub devices shows the hub's devices" : nil)
    }
    let lines = report.hasPowerLines ? "all power lines are at their safe levels" : "there are no power lines"
    let absent = report.absent.isEmpty ? "" : "; missing, so not put to sleep: \(report.absent.joined(separator: ", "))"
    Terminal.standardOutput("\(board ?? left?.path ?? path.folder): \(lines)\(absent)")
  }

  private static func refusal(_ path: SocketPath, _ reason: String) -> CommandError {
    CommandError(
      .unavailable, "a hub is running on \(path.state), and \(reason)",
      nextStep: "stop the hub: it switches everything off")
  }

  /// The copies of board files that earlier hubs have left.
  ///
  /// - Returns: `nil` if the folder of the copies is missing or cannot be used, but the user has named a board file
  /// - Throws: if the user has named no board file, and the folder is missing, cannot be used or has no copy
  private func boardInUse(_ path: SocketPath) throws -> BoardInUse? {
    let inUse: BoardInUse
    do throws(SocketError) {
      inUse = BoardInUse(in: try path.openTrustedFolder())
    } catch {
      if case .notRunning = error {
        if board != nil { return nil }
        throw CommandError(
          .noInput, "no hub has left anything on: there is no folder \(path.folder)",
          nextStep: "name a board file, or the hub's --socket")
      }
      guard board != nil else { throw CommandError(error) }
      Terminal.standardError("continuing without the devices of a previous hub: \(error)")
      return nil
    }
    if board == nil, inUse.isHidden {
      throw CommandError(
        .noPermission, "no permission to look for \(inUse.path)", nextStep: "run it as the hub's user, or with sudo")
    }
    if board == nil, !inUse.isThere {
      throw CommandError(
        .noInput, "no hub has left anything on: there is no \(inUse.path)",
        nextStep: "name a board file, or the hub's --socket")
    }
    return inUse
  }

  private func makeSafe(_ left: BoardInUse?, _ named: Board?, _ hardware: any Hardware) -> SafetyReport {
    let named = named.map { Hub(board: $0, hardware: hardware) }
    guard let left else { return MakingSafe([named].compactMap { $0 }).run().reduce(into: SafetyReport()) { $0 += $1 } }
    return left.makeSafe(hardware, and: named)
  }
}

/// A hub that answers, and its board.
private struct RunningHub {
  let path: SocketPath
  /// The board; `nil` for the built-in board, or if this user may not read the board file. Then only the kernel's locks
  /// on lines, ports and chips protect the hub's devices.
  let board: Board?

  init?(_ path: SocketPath) {
    // A socket that another user has made does not count as a hub.
    guard let folder = try? path.openTrustedFolder(),
      let descriptor = try? UnixSocket.connect(path.devices, in: folder)
    else { return nil }
    close(descriptor)
    self.path = path
    board = try? BoardInUse(in: folder).board()
  }
}

/// The supply lines, ports and chips that two boards share. Only one hub may use such a connection at a time.
enum BoardConnections {
  /// The shared connections in words, sorted. Simulated connections are never shared, because each hub has its own.
  static func shared(_ board: Board, _ other: Board) -> [String] {
    all(of: board).intersection(all(of: other)).sorted()
  }

  private static func all(of board: Board) -> Set<String> {
    var all: Set<String> = []
    for device in board.devices {
      if !SimulatedHardware.isSimulated(device.path) {
        // A device may have several names in /dev, so resolve them before comparing.
        let path = Files.resolved(device.path) ?? device.path
        all.insert(device.place.map { "\(I2CAddress(bus: path, address: $0.address))" } ?? path)
      }
      if case .gpio(let line, _) = device.power.switch, !SimulatedHardware.isSimulated(line.chip) {
        all.insert("line \(line.line) of \(line.chip)")
      }
    }
    return all
  }
}
