import Guarding
import NIOCore

/// The waiting events of one client of an event stream. If too many values wait, the oldest are dropped, because newer
/// ones replace them. News, which no later event repeats, come before all values; more than `newsLimit` also drop their
/// oldest.
final class EventQueue: Sendable {
  static let usualValueLimit = 8
  private static let newsLimit = 256

  private struct Line {
    var events: [ByteBuffer] = []

    /// Adds an event.
    ///
    /// - Returns: whether the oldest event was dropped to make room
    mutating func add(_ event: ByteBuffer, atMost limit: Int) -> Bool {
      events.append(event)
      guard events.count > limit else { return false }
      events.removeFirst()
      return true
    }

    mutating func next() -> ByteBuffer? { events.isEmpty ? nil : events.removeFirst() }
  }

  private struct State {
    var values = Line()
    var news = Line()
  }

  private let valueLimit: Int
  private let traffic: OutputTraffic.Kind
  private let state = Guarded(State())
  /// Yields once after one or more events were sent.
  let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation

  /// - Parameters:
  ///   - valueLimit: the number of values by which a client may fall behind
  ///   - traffic: counts the events that are dropped
  init(valueLimit: Int, traffic: OutputTraffic.Kind) {
    self.valueLimit = valueLimit
    self.traffic = traffic
    let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.signals = signals
    self.signal = signal
  }

  func send(_ value: ByteBuffer) { sent(state.withLock { $0.values.add(value, atMost: valueLimit) }) }

  func send(news: ByteBuffer) { sent(state.withLock { $0.news.add(news, atMost: EventQueue.newsLimit) }) }

  private func sent(_ isFull: Bool) {
    if isFull { traffic.valueDropped() }
    signal.yield()
  }

  /// The next event to write; `nil` if no event waits.
  func next() -> ByteBuffer? { state.withLock { $0.news.next() ?? $0.values.next() } }

  /// Ends `signals`, after a signal that has not been received yet.
  func finish() { signal.finish() }
}
