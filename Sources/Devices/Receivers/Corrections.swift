import Guarding
import HardwareIO
import UBX

/// The corrections that wait to be written to a receiver. The source adds corrections, and the reader's thread removes
/// them. Neither waits for the other.
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
  /// A signal that is raised for each message, so that the reader's thread wakes and writes it.
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

/// Writes corrections to a receiver as fast as its line carries them. The feed never waits. It keeps little more than
/// one message in the line's buffer, because requests to the receiver and newer corrections would have to wait for the
/// buffered ones.
struct CorrectionFeed {
  /// The number of unsent bytes up to which the next message is written.
  private static let mostUnsent = 64

  private let queue: CorrectionQueue
  /// The unwritten rest of a message.
  private var rest: ArraySlice<UInt8> = []

  init(_ queue: CorrectionQueue) { self.queue = queue }

  /// Writes the bytes that the line accepts now.
  ///
  /// - Returns: the time until the line accepts more; `nil` if nothing waits
  mutating func write(to port: any SerialPort, at speed: BaudRate) throws(HardwareError) -> Duration? {
    while true {
      if rest.isEmpty {
        if queue.isEmpty { return nil }
        let unsent = port.unsentCount
        if unsent > CorrectionFeed.mostUnsent { return speed.time(for: unsent - CorrectionFeed.mostUnsent) }
        guard let message = queue.take() else { return nil }
        rest = message[...]
      }
      rest = rest.dropFirst(try port.writeNow(rest))
      if !rest.isEmpty { return speed.time(for: max(port.unsentCount, CorrectionFeed.mostUnsent)) }
    }
  }

  /// Writes the rest of a message that has been written in part. Otherwise the receiver would take the next request
  /// for that rest.
  mutating func finish(on port: any SerialPort) {
    // If the line accepts nothing for a second, the next request reports that.
    if !rest.isEmpty { try? port.write(Array(rest)) }
    rest = []
  }
}

/// The numbers of correction messages that a receiver reports as read, by what it did with them.
public struct CorrectionOutcomes: Equatable, Sendable {
  public var used = 0
  public var unused = 0
  /// Messages for which the receiver does not state whether it used them.
  public var unknown = 0
  /// Messages with a wrong checksum, because the line has lost or added bytes.
  public var damaged = 0

  public init() {}

  /// Whether the receiver has reported no messages.
  public var isEmpty: Bool { self == CorrectionOutcomes() }

  mutating func note(_ report: CorrectionReport) {
    switch report.outcome {
    case .used: used += 1
    case .unused: unused += 1
    case .unknown: unknown += 1
    case .damaged: damaged += 1
    }
  }

  static func += (sum: inout CorrectionOutcomes, more: CorrectionOutcomes) {
    sum.used += more.used
    sum.unused += more.unused
    sum.unknown += more.unknown
    sum.damaged += more.damaged
  }
}
