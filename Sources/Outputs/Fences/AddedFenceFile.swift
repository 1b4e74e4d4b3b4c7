import Guarding

/// The fences that were added while the hub ran. The file keeps them across restarts.
public final class AddedFenceFile: Sendable {
  private let file: StateFile<[StateEntry<AddedFence>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 1 << 20, nothing: [], makeFolder: makeFolder)
  }

  /// The saved fences. Each access reads the disk.
  var fences: [AddedFence] { file.content.compactMap(\.value) }

  /// Saves the fences. It waits for the disk, so that the answer to the client can say whether the fence is saved.
  ///
  /// - Returns: whether the fences are saved
  func keep(_ fences: [AddedFence]) -> Bool {
    file.change { $0 = fences.map(StateEntry.init) }
    return self.fences == fences
  }
}
