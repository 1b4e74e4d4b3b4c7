import FoundationEssentials
import Guarding
import HardwareIO
import Hub

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
  private let mode: UInt32
  private let makeFolder: @Sendable () -> Void
  /// Serializes writes.
  private let disk = Guarded(())

  /// - Parameters:
  ///   - mostBytes: the maximum size of a file in bytes; a longer one is ignored
  ///   - nothing: the content if there is no file
  ///   - mode: the mode of the file, limited by the process's umask
  ///   - makeFolder: makes the file's folder if it is missing
  init(
    path: String, mostBytes: Int, nothing: Content, mode: UInt32 = 0o644, makeFolder: @escaping @Sendable () -> Void
  ) {
    self.path = path
    self.mostBytes = mostBytes
    self.nothing = nothing
    self.mode = mode
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
      try? Files.replace(path, with: Array(text), mode: mode)
    }
  }
}

/// Keeps a file of the instants at which supplies were switched off. Minimum off times then also hold after a restart
/// of the hub.
public final class SupplyTimesFile: Sendable {
  private let file: StateFile<SupplyTimes?>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 64 << 10, nothing: nil, makeFolder: makeFolder)
  }

  /// Reads the file of the previous run. Waits for the disk.
  public func restore(to machine: Machine) {
    if let before = file.content { machine.restore(before) }
  }

  /// Stores that a hub is running. If the hub crashes, the next run learns this from the file. Waits for the disk.
  public func begin(_ machine: Machine) {
    file.change { $0 = SupplyTimes(at: machine.clock.now, isRunning: true) }
  }

  /// Saves the times after all devices are off. Waits for the disk.
  public func end(_ machine: Machine) { file.change { $0 = machine.supplyTimes } }
}
