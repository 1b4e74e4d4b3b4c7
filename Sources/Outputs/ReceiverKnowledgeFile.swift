import Devices
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Keeps the satellite data and positions of receivers in a file, so that receivers start quickly after a restart of
/// the hub. Only `begin` and `end` wait for the disk.
public final class ReceiverKnowledgeFile: Sendable {
  private struct State {
    var writtenAt: MonotonicInstant?
    var following: Subscription?
  }

  /// The shortest time between two writes. It is long because writing wears out SD cards. A hub that crashes loses at
  /// most the data of the last quarter of an hour.
  private static let interval = Duration.seconds(15 * 60)

  private let file: StateFile<[String: StateEntry<ReceiverKnowledge>]>
  private let state = Guarded(State())

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 4 << 20, nothing: [:], makeFolder: makeFolder)
  }

  /// Reads the file, and from then on saves changes, at most once per `interval`. Waits for the disk.
  public func begin(_ store: ReceiverKnowledgeStore, clock: any MonotonicTimeSource) {
    store.restore(file.content.compactMapValues(\.value))
    state.withLock { $0.writtenAt = clock.now }
    let following = store.present.subscribe(
      as: "receivers' knowledge", receiveValue: { [weak self] in self?.follow($0, at: clock.now) })
    state.withLock { $0.following = following }
  }

  private func follow(_ known: [String: ReceiverKnowledge], at now: MonotonicInstant) {
    let isDue = state.withLock { state in
      guard let last = state.writtenAt, now - last >= ReceiverKnowledgeFile.interval else { return false }
      state.writtenAt = now
      return true
    }
    // If no thread can be started, the data is saved after the next interval.
    if isDue {
      _ = DetachedThread.start("receivers' knowledge") { [file] in file.change { $0 = known.mapValues(StateEntry.init) }
      }
    }
  }

  /// Saves the data after all receivers are off, if `begin` was called. Waits for the disk.
  public func end(_ store: ReceiverKnowledgeStore) {
    let following = state.withLock { state in
      state.writtenAt = nil
      defer { state.following = nil }
      return state.following
    }
    guard let following else { return }
    following.cancel()
    let known = store.present.value
    file.change { $0 = known.mapValues(StateEntry.init) }
  }
}
