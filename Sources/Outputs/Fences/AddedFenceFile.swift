import Guarding

/// The fences that were added while the hub ran, kept over restarts.
public final class AddedFenceFile: Sendable {
  private let file: StateFile<[StateEntry<AddedFence>]>

  /// - Parameters:
  ///   - path: the file that they are kept in
  ///   - makeFolder: makes the folder of that, where there is none
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 1 << 20, nothing: [], makeFolder: makeFolder)
  }

  /// Reads the disk.
  var fences: [AddedFence] { file.content.compactMap(\.value) }

  /// Waits for the disk: who adds a fence wants to know that it is kept.
  ///
  /// - Returns: whether they are
  func keep(_ fences: [AddedFence]) -> Bool {
    file.change { $0 = fences.map(StateEntry.init) }
    return self.fences == fences
  }
}
