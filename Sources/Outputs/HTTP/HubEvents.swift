import Devices
import Fusion
import Guarding
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import NMEA
import Publishing

/// Sends the fused state, requested fixes, the satellites in view and the events of fences as server-sent events. It
/// also answers requests for a single state.
final class HubEvents: Sendable {
  private let host: HubHost
  private let streams: EventStreams
  private let states = EventEncoding()
  private let skies = EventEncoding(named: "sky")

  init(host: HubHost, streams: EventStreams) {
    self.host = host
    self.streams = streams
  }

  func response(to request: Request, _ context: HTTPContext, _ wanted: EventRequest) throws -> Response {
    guard case .values(let view) = wanted else {
      return try streams.response(to: request, context) { [self] holder, queue in
        let lifetime = Lifetime()
        subscribeToFences(as: holder, lifetime, queue)
        return lifetime
      }
    }
    if view.asksForFixes, let lack = host.lackOfFixes { throw HTTPError(.notFound, message: lack) }
    // The states of a batch arrive together, so a long queue does not mean that the client has stopped reading.
    let limit = view.batch == nil ? EventQueue.usualValueLimit : 2 * ViewRequest.mostInBatch
    return try streams.response(to: request, context, valueLimit: limit) { [self] holder, queue in
      let lifetime = Lifetime()
      subscribeToFences(as: holder, lifetime, queue)
      // Each client has its own encoding of fixes, because a fix contains its delay for that client.
      let fixes = EventEncoding()
      host.subscribe(
        to: view, as: holder,
        receiveState: { [states] state in
          queue.send(states.event(at: state.at) { StateReport.write(state, to: &$0) })
        },
        receiveFix: { fix in queue.send(fixes.event(at: fix.state.at) { RequestedFixReport.write(fix, to: &$0) }) }
      ).store(in: lifetime)
      if case .states(let rateHz, let parts) = view.form {
        subscribeToSkies(as: holder, rateHz: rateHz, parts: parts, lifetime, queue)
      }
      return lifetime
    }
  }

  /// Answers with one state that is recent enough: the last one, or else a new one for which devices wake. If none
  /// arrives in time, the answer is the last known state.
  func response(to request: Request, _ context: HTTPContext, _ current: CurrentValue) throws -> Response {
    try streams.response(to: request, context, of: host.hub.current(current)) { [host] state in
      var json = JSONWriter()
      StateReport.write(state ?? host.hub.knownState(at: host.now), of: host, to: &json)
      return ByteBuffer(bytes: json.bytes)
    }
  }

  /// Sends the present state of each fence, and later each changed state. Wakes no device.
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

  private func subscribeToSkies(
    as holder: Holder, rateHz: Double?, parts: Set<StatePart>, _ lifetime: Lifetime, _ queue: EventQueue
  ) {
    // An epoch without satellites must not replace one with satellites.
    let epochs = host.hub.epochs(wakes: parts.kinds(on: host.hub.board).contains(.receiver))
    epochs.compactMap { $0.sky.isEmpty ? nil : $0 }.throttled(
      to: .nanoseconds(Int64(1e9 / (rateHz ?? host.hub.board.stateRateHz)))
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

extension StateReport {
  /// Writes a requested state, with the last status of the receiver's pulse, if any.
  static func write(_ state: FusedState, of host: HubHost, to json: inout JSONWriter) {
    let pulse = host.hub.lastPulse.value
    let now = host.now
    write(state, to: &json) { json in
      guard let pulse else { return }
      json.key("pulse")
      json.beginObject()
      json.key("state")
      json.string(pulse.state.rawValue)
      json.member("age", (now - pulse.at).inSeconds, decimals: 1)
      json.member("jitter", pulse.jitterSeconds, decimals: 9)
      json.member("quantisationError", pulse.quantisationErrorSeconds, decimals: 12)
      json.endObject()
    }
  }
}
