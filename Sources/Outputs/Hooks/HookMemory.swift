import Guarding
import Hub

/// What hooks have yet to deliver, and what people were told of and not yet that it is over, for the next run of the hub.
public final class HookMemory: Sendable {
  struct Content: Codable, Equatable, Sendable {
    /// By the hook's place in the board file.
    var waiting: [String: StateEntry<[HookNotice]>] = [:]
    var raised: [StateEntry<HookAlarms.Key>] = []
  }

  private let file: StateFile<Content>

  /// - Parameters:
  ///   - path: the file that it is kept in
  ///   - makeFolder: makes the folder of that, where there is none
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 4 << 20, nothing: Content(), makeFolder: makeFolder)
  }

  /// Reads the disk.
  var content: Content { file.content }

  /// Waits for the disk.
  func keep(_ present: () -> Content) { file.change { $0 = present() } }

  /// Waits for nobody: the disk has a thread of its own. Without a thread to be had it is kept with the next change.
  func keepSoon(_ present: @escaping @Sendable () -> Content?) {
    _ = DetachedThread.start("hooks") { [file] in
      file.change { content in if let present = present() { content = present } }
    }
  }
}
