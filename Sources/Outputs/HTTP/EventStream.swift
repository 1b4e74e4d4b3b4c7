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
struct EventStream: Sendable {
  /// Proxies take a connection on which nothing happens for dead, and a client that has vanished shows when it is written to.
  private static let keepAlive = TimeAmount.seconds(15)
  /// What a client may fall behind by; the newest are kept.
  private static let valueLimit = 8

  let host: HubHost
  private let states = EventEncoding()
  private let skies = EventEncoding(named: "sky")

  init(host: HubHost) { self.host = host }

  /// Streams until the client leaves, reads nothing for too long, or the hub stops.
  func response(to request: Request, _ context: HTTPContext, rateHz: Double?) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: ResponseBody { writer in try await stream(request, context, rateHz, to: &writer) })
  }

  private func stream(
    _ request: Request, _ context: HTTPContext, _ rateHz: Double?, to writer: inout any ResponseBodyWriter
  ) async throws {
    let (events, queue) = AsyncStream.makeStream(
      of: ByteBuffer.self, bufferingPolicy: .bufferingNewest(EventStream.valueLimit))
    let name = "web \(context.peer)"
    let traffic = host.traffic.events
    let send = { @Sendable (event: ByteBuffer) in
      if case .dropped = queue.yield(event) { traffic.valueDropped() }
    }
    let progress = Progress()
    let ticks = context.channel.eventLoop.scheduleRepeatedTask(
      initialDelay: EventStream.keepAlive, delay: EventStream.keepAlive
    ) { [channel = context.channel] _ in
      if progress.isStuck { channel.close(promise: nil) } else { send(ByteBuffer(string: ":\n\n")) }
    }
    traffic.clientCame()
    send(ByteBuffer(string: "retry: 2000\n\n"))
    let lifetime = Lifetime()
    defer {
      lifetime.end()
      ticks.cancel()
      traffic.clientLeft()
    }
    host.state(rateHz: rateHz).subscribe(
      as: name,
      receiveValue: { state in send(states.event(at: state.at) { StateReport.write(state, to: &$0) }) }
    ).store(in: lifetime)
    host.epochs.subscribe(
      as: name,
      receiveValue: { epoch in
        guard !epoch.sky.isEmpty else { return }
        send(
          skies.event(at: epoch.at) { json in
            epoch.sky.withSky { GPSDReport.writeSkyObject($0, epoch.fix, device: nil, to: &json) }
            json.endLine()
          })
      }
    ).store(in: lifetime)
    try await request.body.consumeWithInboundCloseHandler { _ in
      for await event in events {
        progress.begin()
        try await writer.write(event)
        progress.end()
      }
    } onInboundClosed: {
      queue.finish()
    }
    try await writer.finish(nil)
  }
}

/// Whether a client reads what it is sent.
private final class Progress: Sendable {
  private let since = Guarded<MonotonicInstant?>(nil)

  func begin() { since.withLock { $0 = MonotonicClock().now } }
  func end() { since.withLock { $0 = nil } }

  var isStuck: Bool {
    since.withLock { $0.map { MonotonicClock().now - $0 > StreamConnection.patience } ?? false }
  }
}
