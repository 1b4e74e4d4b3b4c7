import Guarding
import HTTPTypes
import Hummingbird
import MonotonicTime
import NIOCore
import Publishing

/// Server-sent events. The open connection is the subscription.
final class EventStreams: Sendable {
  /// The interval of comments. Proxies treat a silent connection as dead, and only writing reveals that a client has
  /// vanished.
  private static let keepAlive = TimeAmount.seconds(15)
  /// The time in seconds after which a refused client may ask again.
  private static let retrySeconds = "10"

  private struct Streams {
    var queues: [Int: EventQueue] = [:]
    var next = 0
    var isOver = false
  }

  private let traffic: OutputTraffic.Kind
  private let places: StreamSlots
  private let connections: HTTPConnections
  private let streams = Guarded(Streams())

  init(traffic: OutputTraffic.Kind, places: StreamSlots, connections: HTTPConnections) {
    self.traffic = traffic
    self.places = places
    self.connections = connections
  }

  /// Ends every stream, and refuses further ones.
  func end() {
    let queues = streams.withLock { streams in
      streams.isOver = true
      return Array(streams.queues.values)
    }
    for queue in queues { queue.finish() }
  }

  /// Registers a stream; `nil` if no further streams are accepted.
  private func add(_ queue: EventQueue) -> Int? {
    streams.withLock { streams in
      if streams.isOver { return nil }
      streams.next += 1
      streams.queues[streams.next] = queue
      return streams.next
    }
  }

  /// Streams until the client leaves, reads nothing for too long, or the server stops.
  ///
  /// - Parameters:
  ///   - valueLimit: the number of values by which a client may fall behind
  ///   - subscribe: called with the client and the destination of events; its result ends with the stream
  func response(
    to request: Request, _ context: HTTPContext, valueLimit: Int = EventQueue.usualValueLimit,
    _ subscribe: @escaping @Sendable (_ holder: Holder, _ queue: EventQueue) -> Lifetime
  ) throws -> Response {
    let slot = try slot(for: context)
    return Response(
      status: .ok,
      // The last header tells nginx to pass on each event at once.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", HTTPField.Name("X-Accel-Buffering")!: "no",
      ],
      body: ResponseBody { [self] writer in
        try await stream(request, context, EventQueue(valueLimit: valueLimit, traffic: traffic), subscribe, to: &writer)
        withExtendedLifetime(slot) {}
      })
  }

  private func slot(for context: HTTPContext) throws -> StreamSlot {
    do throws(StreamSlots.Refusal) {
      return try places.take(for: context.address)
    } catch {
      traffic.clientRefused()
      throw HTTPError(.serviceUnavailable, headers: [.retryAfter: EventStreams.retrySeconds], message: "\(error)")
    }
  }

  /// Answers with one value. Waits for the value until the client leaves. The wait takes a slot, as a stream does,
  /// because the wait keeps devices awake too.
  ///
  /// - Parameters:
  ///   - values: subscribed to in the client's name; its first value, or its end without a value, is the answer
  ///   - document: makes the answer
  func response<Value: Sendable>(
    to request: Request, _ context: HTTPContext, of values: Deferred<Value, Never>,
    _ document: @escaping @Sendable (Value?) -> ByteBuffer
  ) throws -> Response {
    let slot = try slot(for: context)
    let known = Guarded<Value?>(nil)
    let (received, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let lease = values.subscribe(
      as: context.peer.holder("web"),
      receiveValue: { value in
        known.withLock { if $0 == nil { $0 = value } }
        continuation.finish()
      }, receiveCompletion: { _ in continuation.finish() })
    if let value = known.withLock({ $0 }) {
      lease.cancel()
      return HTTPDocument(current: document(value), type: "application/json", for: request).response(to: request)
    }
    return Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody { [self] writer in
        traffic.clientCame()
        connections.streams(context.channel, true)
        defer {
          lease.cancel()
          connections.streams(context.channel, false)
          traffic.clientLeft()
          withExtendedLifetime(slot) {}
        }
        try await request.body.consumeWithInboundCloseHandler { _ in
          for await _ in received {}
          lease.cancel()
          try await writer.write(document(known.withLock { $0 }))
        } onInboundClosed: {
          continuation.finish()
        }
        try await writer.finish(nil)
      })
  }

  private func stream(
    _ request: Request, _ context: HTTPContext, _ queue: EventQueue, _ subscribe: (Holder, EventQueue) -> Lifetime,
    to writer: inout any ResponseBodyWriter
  ) async throws {
    guard let id = add(queue) else { return try await writer.finish(nil) }
    let ticks = context.channel.eventLoop.scheduleRepeatedTask(
      initialDelay: EventStreams.keepAlive, delay: EventStreams.keepAlive
    ) { _ in queue.send(ByteBuffer(string: ":\n\n")) }
    traffic.clientCame()
    connections.streams(context.channel, true)
    queue.send(news: ByteBuffer(string: "retry: 2000\n\n"))
    defer {
      ticks.cancel()
      _ = streams.withLock { $0.queues.removeValue(forKey: id) }
      connections.streams(context.channel, false)
      traffic.clientLeft()
    }
    let lifetime = subscribe(context.peer.holder("web"), queue)
    defer { lifetime.end() }
    try await request.body.consumeWithInboundCloseHandler { _ in
      for await _ in queue.signals {
        while let event = queue.next() { try await writer.write(event) }
      }
    } onInboundClosed: {
      queue.finish()
    }
    try await writer.finish(nil)
  }
}

/// The waiting events of one client of an event stream. If too many values wait, the oldest are dropped, because newer
/// ones replace them. News, which no later event repeats, come before all values. If more than `newsLimit` news wait,
/// the oldest of them are dropped.
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

  /// Ends `signals`. If a signal has not been received yet, it is still delivered.
  func finish() { signal.finish() }
}

/// Encodes each value as a server-sent event once for all clients.
final class EventEncoding: Sendable {
  private struct State: ~Copyable {
    var at: MonotonicInstant?
    var json = JSONWriter(capacity: 2048)
    /// The latest event. The queues in which it waits share its memory.
    var event = ByteBuffer()
  }

  private let name: String?
  private let state = Guarded(State())

  /// - Parameter name: the event's name; without a name, browsers call it `message`
  init(named name: String? = nil) { self.name = name }

  /// The event for the value of one instant.
  ///
  /// - Parameter encode: writes the value as one line; not called if the event for this instant exists
  func event(at instant: MonotonicInstant, encode: (inout JSONWriter) -> Void) -> ByteBuffer {
    state.withLock { state in
      if state.at == instant { return state.event }
      state.json.removeAll()
      encode(&state.json)
      var event = ByteBuffer()
      event.reserveCapacity(state.json.count + 64)
      if let name { event.writeString("event: \(name)\n") }
      event.writeString("id: \(instant.nanoseconds)\ndata: ")
      event.writeBytes(state.json.bytes)
      // The value's line end also ends the field, and an empty line ends the event.
      event.writeString("\n")
      state.at = instant
      state.event = event
      return event
    }
  }
}
