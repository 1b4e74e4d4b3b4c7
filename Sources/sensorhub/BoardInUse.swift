import Glibc
import HardwareIO
import Hub
import Outputs

/// A copy of the board file of a running hub, next to its socket. After a hub was killed, the next one finds in it the
/// devices that may still be on, whatever the board file contains by then.
///
/// Lines are driven and chips are addressed according to it, so the folder and the file must belong to this user, root
/// or the service.
struct BoardInUse {
  private static let mostLeftovers = 9
  /// A board file is a few kilobytes.
  private static let mostBytes = 1 << 20

  private let folder: Folder
  private let name = "board-in-use.json5"

  /// - Parameter folder: that of the hub's sockets
  init(in folder: Folder) { self.folder = folder }

  var path: String { path(of: name) }

  private func path(of name: String) -> String { "\(folder.path)/\(name)" }

  /// The names of those of hubs before, where not everything could be switched off: each has lines of its own.
  private var leftovers: [String] {
    [name + ".left"] + (2...BoardInUse.mostLeftovers).map { "\(name).left-\($0)" }
  }

  /// - Parameter text: `nil` for the board that is built in, which has no real devices
  /// - Returns: why it could not be written
  func record(_ text: [UInt8]?) -> String? {
    guard let text else {
      forget()
      return nil
    }
    do throws(Files.Errno) {
      // In one step: half a board would be none.
      try folder.replace(name, with: text, mode: 0o600)
      return nil
    } catch {
      return "\(path) cannot be written, so after a crash only the board file shows which devices may be on: \(error)"
    }
  }

  func forget() { folder.remove(name) }

  /// Makes the next hub check its devices: not all of them could be switched off.
  func leave() { keep(name) }

  /// No left-over board takes the place of another one, as the lines of both may be on. Where there are too many of them the last one
  /// does.
  private func keep(_ copy: String) {
    if leftovers.contains(copy) { return }
    try? folder.rename(copy, to: leftovers.first { !folder.has($0) } ?? leftovers[leftovers.count - 1])
  }

  /// Whether a hub has left something on that could not be switched off.
  var isLeft: Bool { leftovers.contains(where: folder.has) }

  /// Whether a hub has left something on, or runs.
  var isThere: Bool { folder.has(name) || isLeft }

  /// Whether that cannot be determined, for lack of permission.
  var isHidden: Bool { folder.isHidden(name) }

  /// The board of the hub that runs here; `nil` for one on the board that is built in.
  ///
  /// - Throws: `BoardError.unreadable` if it cannot be known, for want of permission for example
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

  /// Switches off everything that a previous hub had on, and forgets it. Failures are remembered for the next time.
  ///
  /// - Parameter hub: also switches its own devices off, at the same time
  func makeSafe(_ hardware: any Hardware, and hub: Hub? = nil, isStarting: Bool = false) -> SafetyReport {
    var report = SafetyReport()
    var found: [(copy: String?, hub: Hub)] = []
    for copy in leftovers + [name] where folder.has(copy) {
      do throws(BoardError) {
        found.append((copy, Hub(board: try board(of: copy), hardware: hardware)))
      } catch {
        keep(copy)
        let problem = "the devices of the previous hub are not known: \(error)"
        report.problems.append("\(problem); look after it, and remove \(path(of: leftovers[0])) and others like it")
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
