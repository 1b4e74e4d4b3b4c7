import Guarding
import NIOCore

/// The waiting events of one client of an event stream. If too many values wait, the oldest are dropped, because newer
/// ones replace them. News, which no later event repeats, come before all values; more than `newsLimit` also drop their
/// oldest.
final class EventQueue: Sendable {
  static let usualValueLimit = 8
  private static let newsLimit = 256

  private struct State {
    var values: BoundedQueue<ByteBuffer>
    var news = BoundedQueue<ByteBuffer>(limit: EventQueue.newsLimit)
  }

  private let traffic: OutputTraffic.Kind
  private let state: Guarded<State>
  /// Yields once after one or more events were sent.
  let signals: AsyncStream<Void>
  private let signal: AsyncStream<Void>.Continuation

  /// - Parameters:
  ///   - valueLimit: the number of values by which a client may fall behind
  ///   - traffic: counts the events that are dropped
  init(valueLimit: Int, traffic: OutputTraffic.Kind) {
    state = Guarded(State(values: BoundedQueue(limit: valueLimit)))
    self.traffic = traffic
    let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    self.signals = signals
    self.signal = signal
  }

  func send(_ value: ByteBuffer) { sent(state.withLock { $0.values.append(value) > 0 }) }

  func send(news: ByteBuffer) { sent(state.withLock { $0.news.append(news) > 0 }) }

  private func sent(_ isFull: Bool) {
    if isFull { traffic.valueDropped() }
    signal.yield()
  }

  /// The next event to write; `nil` if no event waits.
  func next() -> ByteBuffer? { state.withLock { $0.news.popFirst() ?? $0.values.popFirst() } }

  /// Ends `signals`, after a signal that has not been received yet.
  func finish() { signal.finish() }
}
