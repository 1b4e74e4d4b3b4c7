import Guarding
import Hub

/// Whether the board was inside or outside each fence when the hub last ran. With it, the hub detects that the board
/// left a fence while no hub ran.
public final class FenceMemory: Sendable {
  private struct Side: Codable, Equatable {
    /// The area of the fence. If the fence was moved since, its side is unknown.
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

  /// The known sides, by the names of the fences. Reads the disk.
  func sides(of fences: [FenceSettings]) -> [String: FenceStatus.State] {
    if fences.isEmpty { return [:] }
    let known = file.content
    return fences.reduce(into: [:]) { found, fence in
      guard let side = known[fence.name]?.value, side.area == fence.area.description else { return }
      found[fence.name] = side.isInside ? .inside : .outside
    }
  }

  /// Saves the known sides of the fences. It returns at once: a separate thread writes to the disk.
  func keep(_ fences: @escaping @Sendable () -> [(settings: FenceSettings, status: FenceStatus)]) {
    // If no thread can be started, the next change is saved instead.
    _ = DetachedThread.start("fences") { [file] in
      // If the present side of a fence is unknown, the file keeps the last known one. Otherwise a fence that loses its
      // fix repeatedly would wear out the disk.
      file.change { sides in
        let present = fences()
        // The list is empty if the hub is ending, so keep the sides.
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
