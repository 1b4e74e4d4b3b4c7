import Glibc
import HardwareIO
import Hub
import Outputs

/// A copy of the board file of a running hub, next to its socket. If a hub is killed, the next hub reads from the copy
/// which devices may still be on, even if the board file has changed.
///
/// The copy determines which lines are driven and which chips are addressed, so the folder and the file must belong to
/// this user, root or the service.
struct BoardInUse {
  private static let mostLeftovers = 9
  /// The maximum size of a board file, in bytes.
  private static let mostBytes = 1 << 20

  private let folder: Folder
  private let name = "board-in-use.json5"

  /// - Parameter folder: the folder of the hub's sockets
  init(in folder: Folder) { self.folder = folder }

  var path: String { path(of: name) }

  private func path(of name: String) -> String { "\(folder.path)/\(name)" }

  /// The names for copies of earlier hubs that could not switch every device off. There are several, because each hub
  /// may have had another board.
  private var leftovers: [String] {
    [name + ".left"] + (2...BoardInUse.mostLeftovers).map { "\(name).left-\($0)" }
  }

  /// Writes the copy.
  ///
  /// - Parameter text: the text of the board file; `nil` for the built-in board, which has no real devices
  /// - Returns: the reason if the copy could not be written; otherwise `nil`
  func record(_ text: [UInt8]?) -> String? {
    guard let text else {
      forget()
      return nil
    }
    do throws(Files.Errno) {
      // Replace the file in one step, because half a board file is useless.
      try folder.replace(name, with: text, mode: 0o600)
      return nil
    } catch {
      return "\(path) cannot be written, so after a crash only the board file shows which devices may be on: \(error)"
    }
  }

  func forget() { folder.remove(name) }

  /// Keeps the copy for the next hub. Call this if some devices could not be switched off.
  func leave() { keep(name) }

  /// Keeps a copy under another name, because the lines of several boards may be on. If there are too many copies, the
  /// last one is replaced.
  private func keep(_ copy: String) {
    if leftovers.contains(copy) { return }
    try? folder.rename(copy, to: leftovers.first { !folder.has($0) } ?? leftovers[leftovers.count - 1])
  }

  /// Whether an earlier hub could not switch every device off.
  var isLeft: Bool { leftovers.contains(where: folder.has) }

  /// Whether a hub runs, or an earlier one was killed or could not switch every device off.
  var isThere: Bool { folder.has(name) || isLeft }

  /// Whether this user lacks the permission to see if there is a copy.
  var isHidden: Bool { folder.isHidden(name) }

  /// The board of the hub that runs here; `nil` if no hub runs, or if it runs on the built-in board.
  ///
  /// - Throws: `BoardError.unreadable` if it is unknown, for example because a permission is missing
  func board() throws(BoardError) -> Board? { folder.has(name) ? try board(of: name) : nil }

  private func board(of copy: String) throws(BoardError) -> Board {
    let text: [UInt8]
    do throws(Files.Errno) {
      text = try folder.bytes(of: copy, limit: BoardInUse.mostBytes)
    } catch {
      throw .unreadable(file: path(of: copy), reason: "\(error)")
    }
    return try Board(json5: text, file: path(of: copy))
  }

  /// Switches off all devices that earlier hubs left on, and removes the copies of their board files. If a device
  /// cannot be switched off, the copy stays, so that the next call tries again.
  ///
  /// - Parameters:
  ///   - hub: a hub whose own devices are switched off at the same time
  ///   - isStarting: see `Hub.makeSafe`
  func makeSafe(_ hardware: any Hardware, and hub: Hub? = nil, isStarting: Bool = false) -> SafetyReport {
    var report = SafetyReport()
    var found: [(copy: String?, hub: Hub)] = []
    for copy in leftovers + [name] where folder.has(copy) {
      do throws(BoardError) {
        found.append((copy, Hub(board: try board(of: copy), hardware: hardware)))
      } catch {
        keep(copy)
        let problem = "the devices of the previous hub are unknown: \(error)"
        report.problems.append(
          "\(problem); fix the cause, then remove \(path(of: leftovers[0])) and files with similar names")
      }
    }
    if let hub { found.append((nil, hub)) }
    let reports = MakingSafe(found.map(\.hub), isStarting: isStarting).run()
    for (index, made) in reports.enumerated() {
      report += made
      guard let copy = found[index].copy else { continue }
      if made.problems.isEmpty { folder.remove(copy) } else { keep(copy) }
    }
    return report
  }
}
