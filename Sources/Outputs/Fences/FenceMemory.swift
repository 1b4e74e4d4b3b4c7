import Guarding
import Hub

/// The board's side of its fences in the hub's last run: a fence that was left in the meantime has been left.
public final class FenceMemory: Sendable {
  private struct Side: Codable, Equatable {
    /// A fence that was moved has no past.
    var area: String
    var isInside: Bool
  }

  private let file: StateFile<[String: StateEntry<Side>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes its folder, if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 1 << 20, nothing: [:], makeFolder: makeFolder)
  }

  /// Reads the disk. The known sides, by the names of the fences.
  func sides(of fences: [FenceSettings]) -> [String: FenceStatus.State] {
    if fences.isEmpty { return [:] }
    let known = file.content
    return fences.reduce(into: [:]) { found, fence in
      guard let side = known[fence.name]?.value, side.area == fence.area.description else { return }
      found[fence.name] = side.isInside ? .inside : .outside
    }
  }

  /// Saves the known sides of the fences. It never waits: the disk has a thread of its own.
  func keep(_ fences: @escaping @Sendable () -> [(settings: FenceSettings, status: FenceStatus)]) {
    // Where there is no thread to be had, with the next change.
    _ = DetachedThread.start("fences") { [file] in
      // A fence that is blind now and then wears no disk out.
      file.change { sides in
        let present = fences()
        // The hub ends.
        if present.isEmpty { return }
        let old = sides
        sides = present.reduce(into: [:]) { sides, fence in
          let area = fence.settings.area.description
          switch fence.status.state {
          case .unknown:
            if let known = old[fence.settings.name], known.value?.area == area { sides[fence.settings.name] = known }
          case .inside, .outside:
            sides[fence.settings.name] = StateEntry(Side(area: area, isInside: fence.status.state == .inside))
          }
        }
      }
    }
  }
}
