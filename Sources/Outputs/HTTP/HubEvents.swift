import Devices
import Fusion
import Guarding
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import NMEA
import Publishing

/// The fused state, the satellites in view and what happens to the fences, as events.
final class HubEvents: Sendable {
  private let host: HubHost
  private let streams: EventStreams
  private let states = EventEncoding()
  private let skies = EventEncoding(named: "sky")

  init(host: HubHost, streams: EventStreams) {
    self.host = host
    self.streams = streams
  }

  func response(to request: Request, _ context: HTTPContext, _ wish: EventWish) throws -> Response {
    if case .fixes = wish, let lack = host.lackOfFixes { throw HTTPError(.notFound, message: lack) }
    return try streams.response(to: request, context) { [self] holder, queue in
      let lifetime = Lifetime()
      subscribeToFences(as: holder, lifetime, queue)
      switch wish {
      case .fences: break
      case .states(let rateHz, let parts): subscribe(as: holder, rateHz: rateHz, parts: parts, lifetime, queue)
      case .fixes(let schedule):
        // What each is told is his own: it says how late it comes.
        let fixes = EventEncoding()
        host.fixes(on: schedule).subscribe(
          as: holder,
          receiveValue: { fix in queue.send(fixes.event(at: fix.state.at) { ScheduledFixReport.write(fix, to: &$0) }) }
        ).store(in: lifetime)
      }
      return lifetime
    }
  }

  /// Each as it is, and then those whose state has changed. Wakes nothing.
  private func subscribeToFences(as holder: Holder, _ lifetime: Lifetime, _ queue: EventQueue) {
    let told = Guarded<[FenceStatus]>([])
    host.fences.changes.subscribe(
      as: holder,
      receiveValue: { [host] statuses in
        let old = told.withLock { told in
          defer { told = statuses }
          return told
        }
        for status in statuses where !old.contains(where: { $0.name == status.name && $0.isSameState(as: status) }) {
          var json = JSONWriter()
          FenceReport.write(status, at: host.now, to: &json)
          var event = ByteBuffer(string: "event: fence\nid: \(status.since.nanoseconds)\ndata: ")
          event.writeBytes(json.bytes)
          event.writeString("\n")
          queue.send(news: event)
        }
      }
    ).store(in: lifetime)
  }

  private func subscribe(
    as holder: Holder, rateHz: Double?, parts: Set<StatePart>, _ lifetime: Lifetime, _ queue: EventQueue
  ) {
    host.state(rateHz: rateHz, parts: parts).subscribe(
      as: holder,
      receiveValue: { [states] state in queue.send(states.event(at: state.at) { StateReport.write(state, to: &$0) }) }
    ).store(in: lifetime)
    // An epoch without satellites must not take the place of one with them.
    let epochs = parts.kinds(on: host.hub.value.board).contains(.receiver) ? host.epochs : host.overheardEpochs
    epochs.compactMap { $0.sky.isEmpty ? nil : $0 }.throttled(
      to: .nanoseconds(Int64(1e9 / (rateHz ?? host.hub.value.board.stateRateHz)))
    ).subscribe(
      as: holder.wanting(parts),
      receiveValue: { [skies] epoch in
        queue.send(
          skies.event(at: epoch.at) { json in
            GPSDReport.writeSkyObject(epoch, device: nil, to: &json)
            json.endLine()
          })
      }
    ).store(in: lifetime)
  }
}
