import Guarding

/// Corrections on their way to a receiver: their source adds them, and the reader's thread takes them. Neither waits.
///
/// It holds complete messages, and drops the oldest if they come faster than the line carries them: each second makes a
/// correction worth less.
public final class CorrectionQueue: Sendable {
  /// A second's corrections of all constellations take about two kilobytes.
  private static let mostBytes = 8192

  private struct State {
    var messages: [[UInt8]] = []
    var byteCount = 0
    var lostCount = 0
    var outcomes = CorrectionOutcomes()
  }

  private let state = Guarded(State())
  /// Raised with each message.
  let signal = WakeSignal()

  public init() {}

  public func put(_ message: [UInt8]) {
    state.withLock { state in
      state.messages.append(message)
      state.byteCount += message.count
      while state.byteCount > CorrectionQueue.mostBytes {
        state.byteCount -= state.messages.removeFirst().count
        state.lostCount += 1
      }
    }
    signal.raise()
  }

  func take() -> [UInt8]? {
    state.withLock { state in
      guard !state.messages.isEmpty else { return nil }
      let message = state.messages.removeFirst()
      state.byteCount -= message.count
      return message
    }
  }

  var isEmpty: Bool { state.withLock { $0.messages.isEmpty } }

  /// The rest will not be taken: the receiver is not read any more.
  public func clear() {
    state.withLock { state in
      state.messages = []
      state.byteCount = 0
    }
    signal.clear()
  }

  /// Notes the receiver's report about the corrections since its last report.
  func note(_ outcomes: CorrectionOutcomes) { state.withLock { $0.outcomes += outcomes } }

  /// The receiver's reports about all its corrections so far.
  public var outcomes: CorrectionOutcomes { state.withLock { $0.outcomes } }

  /// How many messages the line was too slow for.
  public var lostCount: Int { state.withLock { $0.lostCount } }
}
