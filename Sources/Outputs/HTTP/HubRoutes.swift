import Fusion
import HTTPTypes
import HardwareIO
import Hub
import Hummingbird
import MonotonicTime
import Publishing

/// The routes of a hub: those that only read, and those that change something.
enum HubRoutes {
  /// - Parameter hasToken: whether the port has a token, which every client must send
  static func all(
    _ host: HubHost, _ holds: DeviceHolds, _ streams: EventStreams, hasToken: Bool
  ) -> [HTTPRoute] {
    Dashboard(host: host).routes + reading(host, HubEvents(host: host, streams: streams))
      + holding(holds, host, hasToken: hasToken) + FenceRoutes.routes(host, hasToken: hasToken)
      + HistoryRoutes(history: RecordedHistory(host: host)).routes + ReplayRoutes.routes(host.replay)
  }

  /// The routes that read or follow the present state.
  private static func reading(_ host: HubHost, _ events: HubEvents) -> [HTTPRoute] {
    [
      HTTPRoute(.get, "healthz") { request, _ in HTTPDocument.text("ok\n", to: request) },
      HTTPRoute(.get, "state", asking: HubRoutes.stateWords) { request, context in
        if let current = try HubRoutes.current(request) { return try events.response(to: request, context, current) }
        let state = host.hub.knownState(at: host.now)
        return HTTPDocument.json(to: request) { StateReport.write(state, of: host, to: &$0) }
      },
      HTTPRoute(.get, "events", asking: EventRequest.words) { request, context in
        try events.response(to: request, context, try EventRequest(request))
      },
      HTTPRoute(.get, "devices") { request, _ in
        HTTPDocument.json(to: request) { DevicesReport.write(host, to: &$0) }
      },
      HTTPRoute(.get, "fences") { request, _ in
        HTTPDocument.json(to: request) {
          FenceReport.write(host.fences.snapshots, added: host.fences.addedNames, at: host.now, to: &$0)
        }
      },
      HTTPRoute(.get, "metrics") { request, _ in
        HTTPDocument.text(MetricsReport.text(host), type: "text/plain; version=0.0.4; charset=utf-8", to: request)
      },
    ]
  }

  /// The permitted parameters of `/state`.
  private static let stateWords = [ViewRequest.Key.maxAge, .parts, .accuracy, .within].map(\.rawValue)

  /// The request for a state of limited age; `nil` if the last state of any age is requested.
  private static func current(_ request: Request) throws -> CurrentValue? {
    let view = try HTTPQuery.view(of: request)
    if case .current(let value) = view.form { return value }
    guard view.isEmpty else {
      throw HTTPError(.badRequest, message: "'parts' needs 'maxAge': without it the answer is the complete last state")
    }
    return nil
  }

  /// The routes for holds, which keep a device awake without receiving its values.
  private static func holding(_ holds: DeviceHolds, _ host: HubHost, hasToken: Bool) -> [HTTPRoute] {
    [
      HTTPRoute(.get, "holds") { request, _ in HTTPDocument.json(to: request) { HoldsReport.write(holds.all, to: &$0) }
      },
      HTTPRoute(.post, "devices/:id/hold", asking: ["for", "hold"]) { request, context in
        let device = try device(context, host.hub)
        let seconds = try HTTPQuery.number("for", of: request, in: 1...DeviceHolds.longest) ?? 60
        let user = context.user
        if seconds > DeviceHolds.longestOfOthers, !hasToken, !user.isTrusted {
          throw HTTPError(
            .forbidden,
            message: "a hold lasts at most \(Int(DeviceHolds.longestOfOthers)) s, except for root, the group "
              + "\(Accounts.service) and clients with the port's token (http.tokenFile); to prolong a hold, send its id"
          )
        }
        let duration = Duration.nanoseconds(Int64(seconds * 1e9))
        if let id = try HTTPQuery.text("hold", of: request) {
          guard let hold = holds.renew(String(id), of: device, for: duration) else { throw unknownHold(id, device) }
          return HTTPDocument.json(to: request) { HoldsReport.write(hold, to: &$0) }
        }
        let peer = context.address.map { "\($0)" } ?? "http"
        do throws(DeviceHolds.Refusal) {
          let hold = try holds.hold(device, for: duration, as: "held for \(peer)", of: user)
          return HTTPDocument.json(to: request) { HoldsReport.write(hold, to: &$0) }
        } catch {
          throw HTTPError(
            .serviceUnavailable, headers: [.retryAfter: "60"], message: "no hold: \(error.reason)")
        }
      },
      HTTPRoute(.post, "devices/:id/release", asking: ["hold"]) { request, context in
        let id = try HTTPQuery.text("hold", of: request)
        // A hold may outlast its device, which a new board file may have removed.
        let name = PathEncoding.decoded(try context.parameters.require("id"))
        if let id, holds.release(String(id), of: name) {
          return HTTPDocument.json(to: request) { json in
            HoldsReport.write(.init(id: String(id), device: name, holder: "", remaining: .zero), to: &json)
          }
        }
        let device = try device(context, host.hub)
        guard let id else {
          throw HTTPError(
            .badRequest, message: "'hold' must be the id from the answer to /devices/\(device)/hold")
        }
        throw unknownHold(id, device)
      },
    ]
  }

  private static func unknownHold(_ id: Substring, _ device: String) -> HTTPError {
    HTTPError(.notFound, message: "no hold '\(id.prefix(40))' on '\(device)': it has ended, or never existed")
  }

  private static func device(_ context: HTTPContext, _ hub: Hub) throws -> String {
    let id = PathEncoding.decoded(try context.parameters.require("id"))
    let known = hub.devices.map(\.id)
    guard known.contains(id) else {
      throw HTTPError(.notFound, message: "no device '\(id)'; valid ones are \(known.joined(separator: ", "))")
    }
    return id
  }
}
