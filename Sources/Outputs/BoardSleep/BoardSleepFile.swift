import Hub

/// Keeps a file with the data that the hub needs after a sleep of the machine.
public final class BoardSleepFile: Sendable {
  private let file: StateFile<StateEntry<BoardSleepMemory>?>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: nil, makeFolder: makeFolder)
  }

  /// The content of the file; `nil` if there is none, or if it is implausible. Waits for the disk.
  var content: BoardSleepMemory? { file.content?.value.flatMap { $0.isPlausible ? $0 : nil } }

  /// Replaces the content. Waits for the disk.
  func keep(_ memory: BoardSleepMemory) { file.change { $0 = StateEntry(memory) } }
}
