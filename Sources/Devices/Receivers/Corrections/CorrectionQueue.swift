import Guarding

/// Corrections on their way to a receiver. The source adds them, and the reader's thread takes them. Neither waits for
/// the other.
///
/// The queue holds complete messages. If messages arrive faster than the line carries them, the queue drops the oldest,
/// because a correction is worth less each second.
public final class CorrectionQueue: Sendable {
  /// The maximum number of bytes. One second's corrections of all constellations take about two kilobytes.
  private static let mostBytes = 8192

  private struct State {
    var messages = BoundedQueue<[UInt8]>(limit: CorrectionQueue.mostBytes)
    var outcomes = CorrectionOutcomes()
  }

  private let state = Guarded(State())
  /// Raised with each message.
  let signal = WakeSignal()

  public init() {}

  public func put(_ message: [UInt8]) {
    state.withLock { _ = $0.messages.append(message, size: message.count) }
    signal.raise()
  }

  func take() -> [UInt8]? { state.withLock { $0.messages.popFirst() } }

  var isEmpty: Bool { state.withLock { $0.messages.isEmpty } }

  /// Drops the waiting messages, because the receiver is no longer read.
  public func clear() {
    state.withLock { $0.messages.removeAll() }
    signal.clear()
  }

  /// Adds a receiver's report about the corrections since its last report.
  func note(_ outcomes: CorrectionOutcomes) { state.withLock { $0.outcomes += outcomes } }

  /// The sum of the receiver's reports about its corrections.
  public var outcomes: CorrectionOutcomes { state.withLock { $0.outcomes } }

  /// The number of messages that were lost because the line was too slow.
  public var lostCount: Int { state.withLock { $0.messages.droppedCount } }
}
