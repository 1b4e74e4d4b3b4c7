import FoundationEssentials
import Guarding
import HardwareIO

/// An entry of a state file. A damaged entry is skipped, and does not affect the others.
struct StateEntry<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
  /// The value; `nil` if the entry is damaged.
  var value: Value?

  init(_ value: Value) { self.value = value }

  init(from decoder: any Decoder) { value = try? Value(from: decoder) }

  func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A part of the hub's knowledge across its runs, as JSON in a file. Its loss does no harm: a damaged file counts as
/// missing. A hub that cannot write says so for its energy log.
final class StateFile<Content: Codable & Equatable & Sendable>: Sendable {
  private let path: String
  private let mostBytes: Int
  private let nothing: Content
  private let makeFolder: @Sendable () -> Void
  /// Serializes writes.
  private let disk = Guarded(())

  /// - Parameters:
  ///   - mostBytes: a longer file is ignored
  ///   - nothing: the content without a file
  ///   - makeFolder: makes its folder, if it is missing
  init(path: String, mostBytes: Int, nothing: Content, makeFolder: @escaping @Sendable () -> Void) {
    self.path = path
    self.mostBytes = mostBytes
    self.nothing = nothing
    self.makeFolder = makeFolder
  }

  /// The content. Reads the disk.
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
