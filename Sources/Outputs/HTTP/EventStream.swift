import Devices
import Fusion
import Guarding
import HTTPTypes
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import NMEA
import Publishing

/// The fused state and the satellites in view as server-sent events. The open connection is the subscription.
final class EventStream: Sendable {
  /// Proxies take a connection on which nothing happens for dead, and a client that has vanished shows when it is written to.
  private static let keepAlive = TimeAmount.seconds(15)
  /// What a client may fall behind by; the newest are kept.
  private static let valueLimit = 8

  /// When somebody who found no place may ask again.
  private static let retrySeconds = "10"

  private struct Streams {
    var queues: [Int: AsyncStream<ByteBuffer>.Continuation] = [:]
    var next = 0
    var isOver = false
  }

  private let host: HubHost
  private let places: StreamPlaces
  private let connections: HTTPConnections
  private let streams = Guarded(Streams())
  private let states = EventEncoding()
  private let skies = EventEncoding(named: "sky")

  init(host: HubHost, places: StreamPlaces, connections: HTTPConnections) {
    self.host = host
    self.places = places
    self.connections = connections
  }

  /// Ends every stream, and those that somebody still asks for.
  func end() {
    let queues = streams.withLock { streams in
      streams.isOver = true
      return Array(streams.queues.values)
    }
    for queue in queues { queue.finish() }
  }

  /// Registers a stream; `nil` where there are to be no more.
  private func add(_ queue: AsyncStream<ByteBuffer>.Continuation) -> Int? {
    streams.withLock { streams in
      if streams.isOver { return nil }
      streams.next += 1
      streams.queues[streams.next] = queue
      return streams.next
    }
  }

  /// Streams until the client leaves, reads nothing for too long, or the hub stops.
  func response(
    to request: Request, _ context: HTTPContext, rateHz: Double?, parts: Set<StatePart>
  ) throws -> Response {
    let place: StreamPlace
    do throws(StreamPlaces.Refusal) {
      place = try places.take(for: context.address)
    } catch {
      host.traffic.events.clientRefused()
      throw HTTPError(.serviceUnavailable, headers: [.retryAfter: EventStream.retrySeconds], message: "\(error)")
    }
    return Response(
      status: .ok,
      // The last one is nginx's: it is not to collect events until they are worth sending.
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store", HTTPField.Name("X-Accel-Buffering")!: "no",
      ],
      body: ResponseBody { [self] writer in
        try await stream(request, context, rateHz, parts, to: &writer)
        withExtendedLifetime(place) {}
      })
  }

  private func stream(
    _ request: Request, _ context: HTTPContext, _ rateHz: Double?, _ parts: Set<StatePart>,
    to writer: inout any ResponseBodyWriter
  ) async throws {
    let (events, queue) = AsyncStream.makeStream(
      of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(EventStream.valueLimit))
    let name = "web \(context.peer)"
    guard let id = add(queue) else { return try await writer.finish(nil) }
    let traffic = host.traffic.events
    let send = { @Sendable (event: ByteBuffer) in
      if case .dropped = queue.yield(event) { traffic.valueDropped() }
    }
    let ticks = context.channel.eventLoop.scheduleRepeatedTask(
      initialDelay: EventStream.keepAlive, delay: EventStream.keepAlive
    ) { _ in send(ByteBuffer(string: ":\n\n")) }
    traffic.clientCame()
    connections.streams(context.channel, true)
    send(ByteBuffer(string: "retry: 2000\n\n"))
    let lifetime = Lifetime()
    defer {
      lifetime.end()
      ticks.cancel()
      _ = streams.withLock { $0.queues.removeValue(forKey: id) }
      connections.streams(context.channel, false)
      traffic.clientLeft()
    }
    host.state(rateHz: rateHz, parts: parts).subscribe(
      as: name,
      receiveValue: { [states] state in send(states.event(at: state.at) { StateReport.write(state, to: &$0) }) }
    ).store(in: lifetime)
    // An epoch without satellites must not take the place of one with them.
    let epochs = parts.kinds(on: host.hub.value.board).contains(.receiver) ? host.epochs : host.overheardEpochs
    epochs.compactMap { $0.sky.isEmpty ? nil : $0 }.throttled(
      to: .nanoseconds(Int64(1e9 / (rateHz ?? host.hub.value.board.stateRateHz)))
    ).subscribe(
      as: Hub.holder(name, of: parts),
      receiveValue: { [skies] epoch in
        send(
          skies.event(at: epoch.at) { json in
            epoch.sky.withSky { GPSDReport.writeSkyObject($0, epoch.fix, device: nil, to: &json) }
            json.endLine()
          })
      }
    ).store(in: lifetime)
    try await request.body.consumeWithInboundCloseHandler { _ in
      for await event in events {
        try await writer.write(event)
      }
    } onInboundClosed: {
      queue.finish()
    }
    try await writer.finish(nil)
  }
}
