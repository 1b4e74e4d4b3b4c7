import Glibc
import HardwareIO
import Hub
import Outputs
import SystemPackage

/// A copy of the board file that a hub works by, beside its socket, for as long as it runs. Who comes after a hub that was
/// killed finds in it what that had on, whatever the board file says by then.
struct BoardInUse {
  let path: String
  /// Those of hubs before, where not everything could be switched off: each has lines of its own.
  private var leftovers: [String] {
    [path + ".left"] + (2...BoardInUse.mostLeftovers).map { "\(path).left-\($0)" }
  }

  private static let mostLeftovers = 9

  init(beside socket: SocketPath) {
    let folder = socket.state.lastIndex(of: "/").map { String(socket.state[...$0]) } ?? ""
    path = folder + "board-in-use.json5"
  }

  /// - Parameter text: `nil` for the board that is built in, which has no real devices
  /// - Returns: why it could not be written
  func record(_ text: [UInt8]?) -> String? {
    guard let text else {
      forget()
      return nil
    }
    do {
      // In one step: half a board would be none.
      let temporary = path + ".new"
      unlink(temporary)
      let file = try FileDescriptor.open(
        temporary, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
        permissions: .ownerReadWrite)
      try file.closeAfter { _ = try file.writeAll(text) }
      guard rename(temporary, path) == 0 else { throw Errno(rawValue: errno) }
      return nil
    } catch {
      unlink(path + ".new")
      return "\(path) cannot be written, so what is on after a crash is known from the board file alone: \(error)"
    }
  }

  func forget() { unlink(path) }

  /// Has whoever comes next look after what stands in it: not all of that could be switched off.
  func leave() { keep(path) }

  /// No left-over board takes the place of another one, as the lines of both may be on. Where there are too many of them the last one
  /// does.
  private func keep(_ copy: String) {
    if leftovers.contains(copy) { return }
    rename(copy, leftovers.first { !BoardInUse.exists($0) } ?? leftovers[leftovers.count - 1])
  }

  /// Whether a hub has left something on that could not be switched off.
  var isLeft: Bool { leftovers.contains(where: BoardInUse.exists) }

  /// Whether a hub has left something on, or runs.
  var isThere: Bool { BoardInUse.exists(path) || isLeft }

  /// Whether nobody can tell, for want of permission.
  var isHidden: Bool { access(path, F_OK) != 0 && errno == EACCES }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Has everything off that a hub before this one had on, and forgets it. What went wrong is kept in mind for the
  /// next time.
  ///
  /// - Parameter hub: has its own devices off as well, at the same time
  func makeSafe(_ hardware: any Hardware, and hub: Hub? = nil, isStarting: Bool = false) -> SafetyReport {
    var report = SafetyReport()
    var found: [(copy: String?, hub: Hub)] = []
    for copy in leftovers + [path] where BoardInUse.exists(copy) {
      do throws(BoardError) {
        found.append((copy, Hub(board: try Board(ownFile: copy), hardware: hardware)))
      } catch {
        keep(copy)
        let problem = "what a hub before this one had on is not known: \(error)"
        report.problems.append("\(problem); look after it, and remove \(leftovers[0]) and others like it")
      }
    }
    if let hub { found.append((nil, hub)) }
    let reports = MakingSafe(found.map(\.hub), isStarting: isStarting).run()
    for (index, made) in reports.enumerated() {
      report += made
      guard let copy = found[index].copy else { continue }
      if made.problems.isEmpty { unlink(copy) } else { keep(copy) }
    }
    return report
  }
}
