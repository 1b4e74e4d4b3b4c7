import Synchronization

/// The counts of all recordings of a process.
public final class RecordingCounters: Sendable {
  private let bytes = Atomic(0)
  private let messages = Atomic(0)
  private let segments = Atomic(0)

  public init() {}

  /// The number of bytes that were written to segments.
  public var byteCount: Int { bytes.load(ordering: .relaxed) }
  public var lostMessageCount: Int { messages.load(ordering: .relaxed) }
  /// The number of segments in the folder, as of the last time that a segment was begun or removed.
  public var segmentCount: Int { segments.load(ordering: .relaxed) }

  func wrote(byteCount: Int) { bytes.add(byteCount, ordering: .relaxed) }
  func lost(messageCount: Int) { messages.add(messageCount, ordering: .relaxed) }
  func set(segmentCount: Int) { segments.store(segmentCount, ordering: .relaxed) }
}
