import Glibc
import HardwareIO
import Hub
import Outputs
import SystemPackage

/// A copy of the board file that a hub works by, beside its socket, for as long as it runs. Who comes after a hub that was
/// killed finds in it what that had on, whatever the board file says by then.
struct BoardInUse {
  let path: String
  /// That of a hub before, where not everything could be switched off.
  private var leftover: String { path + ".left" }

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
  func leave() { rename(path, leftover) }

  /// Whether a hub has left something on that could not be switched off.
  var isLeft: Bool { BoardInUse.exists(leftover) }

  /// Whether a hub has left something on, or runs.
  var isThere: Bool { BoardInUse.exists(path) || isLeft }

  /// Whether nobody can tell, for want of permission.
  var isHidden: Bool { access(path, F_OK) != 0 && errno == EACCES }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Has everything off that a hub before this one had on, and forgets it. What went wrong is kept in mind for the
  /// next time.
  func makeSafe(_ hardware: any Hardware, isStarting: Bool = false) -> SafetyReport {
    var report = SafetyReport()
    for copy in [leftover, path] where BoardInUse.exists(copy) {
      let found = makeSafe(copy, hardware, isStarting: isStarting)
      if found.problems.isEmpty { unlink(copy) } else { rename(copy, leftover) }
      report += found
    }
    return report
  }

  private func makeSafe(_ copy: String, _ hardware: any Hardware, isStarting: Bool) -> SafetyReport {
    do throws(BoardError) {
      return Hub(board: try Board(file: copy), hardware: hardware).madeSafe(isStarting: isStarting)
    } catch {
      var report = SafetyReport()
      report.problems = [
        "what a hub before this one had on is not known: \(error); look after it, and remove \(leftover)"
      ]
      return report
    }
  }
}
