import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// The requests for fixes in the board file in service. Each one is a subscription, which wakes devices for its fixes.
/// Subscribing to the results wakes no device.
///
/// Outputs that pass on the fixes subscribe to `values`. The recorder records the measurements for these requests like
/// those for any client.
public final class StandingRequests: Sendable {
  /// A fix for one of the board file's requests.
  public struct Value: Sendable {
    public var name: String
    public var fix: RequestedFix
  }

  private struct Lease {
    var request: StandingRequest
    var subscription: Subscription
  }

  public let values = Subject<Value, Never>()
  private let leases = Guarded<[Lease]>([])

  public init() {}

  /// Makes the requests of a board from now on, and ends all others. Unchanged requests continue.
  func follow(_ board: Board, on host: HubHost) {
    let isPossible = host.lackOfFixes == nil
    let wanted = isPossible ? board.requests : []
    let (kept, gone) = leases.withLock { leases in
      defer { leases.removeAll { !wanted.contains($0.request) } }
      return (leases.map(\.request), leases.filter { !wanted.contains($0.request) })
    }
    // Begin new requests before ending old ones, so that a change causes no power cycle.
    for request in wanted where !kept.contains(request) { begin(request, on: host) }
    for lease in gone { lease.subscription.cancel() }
  }

  private func begin(_ request: StandingRequest, on host: HubHost) {
    let name = request.name
    let subscription = host.subscribe(
      to: request.request, as: Holder("request \(name)"), receiveState: { _ in },
      receiveFix: { [values] fix in values.send(Value(name: name, fix: fix)) })
    leases.withLock { $0.append(Lease(request: request, subscription: subscription)) }
  }

  func end() {
    let gone = leases.withLock { leases in
      defer { leases = [] }
      return leases
    }
    for lease in gone { lease.subscription.cancel() }
  }
}

/// Makes the standing requests of the board file while the hub runs.
public final class StandingRequestOutput: Service {
  private let host: HubHost

  public init(host: HubHost) { self.host = host }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(
      as: "requests", receiveValue: { [host] in host.requests.follow($0.board, on: host) })
    await untilShutdown()
    boards.cancel()
    host.requests.end()
  }
}
