import Guarding
import Hub

/// Keeps two things for the next run of the hub: the undelivered notices of hooks, and the reported troubles that are
/// not over yet.
public final class HookMemory: Sendable {
  struct Content: Codable, Equatable, Sendable {
    /// The undelivered notices, by the hook's key in the board file.
    var waiting: [String: StateEntry<[HookNotice]>] = [:]
    var raised: [StateEntry<HookAlarms.Key>] = []
  }

  private let file: StateFile<Content>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 4 << 20, nothing: Content(), makeFolder: makeFolder)
  }

  /// The stored content. Reads the disk.
  var content: Content { file.content }

  /// Saves the content. Waits for the disk.
  func keep(_ present: () -> Content) { file.change { $0 = present() } }

  /// Saves the content on another thread, without waiting. If no thread can be started, this content is saved with the
  /// next change.
  func keepSoon(_ present: @escaping @Sendable () -> Content?) {
    _ = DetachedThread.start("hooks") { [file] in
      file.change { content in if let present = present() { content = present } }
    }
  }
}
