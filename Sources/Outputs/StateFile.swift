import FoundationEssentials
import Guarding
import HardwareIO

/// An entry of a state file. If an entry is damaged, only that entry is skipped.
struct StateEntry<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
  /// The value; `nil` if the entry is damaged.
  var value: Value?

  init(_ value: Value) { self.value = value }

  init(from decoder: any Decoder) { value = try? Value(from: decoder) }

  func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// Keeps data in a JSON file across restarts of the hub. Losing the file does no harm, so a damaged file counts as
/// missing, and errors in writing are ignored.
final class StateFile<Content: Codable & Equatable & Sendable>: Sendable {
  private let path: String
  private let mostBytes: Int
  private let nothing: Content
  private let makeFolder: @Sendable () -> Void
  /// Serializes writes.
  private let disk = Guarded(())

  /// - Parameters:
  ///   - mostBytes: the maximum size of a file in bytes; a longer one is ignored
  ///   - nothing: the content if there is no file
  ///   - makeFolder: makes the file's folder if it is missing
  init(path: String, mostBytes: Int, nothing: Content, makeFolder: @escaping @Sendable () -> Void) {
    self.path = path
    self.mostBytes = mostBytes
    self.nothing = nothing
    self.makeFolder = makeFolder
  }

  /// The content of the file. Each access reads the disk.
  var content: Content {
    guard let text = try? Files.bytes(ofOwn: path, limit: mostBytes) else { return nothing }
    return (try? JSONDecoder().decode(Content.self, from: Data(text))) ?? nothing
  }

  /// Changes the content. Waits for the disk, but writes only if the content has changed.
  func change(_ edit: (inout Content) -> Void) {
    disk.withLock { _ in
      let old = content
      var new = old
      edit(&new)
      guard new != old, let text = try? JSONEncoder().encode(new) else { return }
      makeFolder()
      try? Files.replace(path, with: Array(text))
    }
  }
}
