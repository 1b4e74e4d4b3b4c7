import Guarding
import Hub
import Publishing
import ServiceLifecycle

/// Gives receivers the corrections of the casters that the board file names. A receiver gets corrections while it has
/// subscribers. This output keeps no device awake.
public final class CorrectionsOutput: Service {
  private final class Supply: Sendable {
    let client: CorrectionClient
    private let following: Subscription

    init(_ client: CorrectionClient) {
      self.client = client
      following = client.corrections.isWanted.subscribe(as: "corrections", receiveValue: { client.want($0) })
    }

    func end() {
      following.cancel()
      client.end()
    }
  }

  private let host: HubHost
  private let sink: JournalSink
  private let patience: CasterVisit.Patience
  private let supplies = Guarded<[Supply]>([])

  public convenience init(host: HubHost, sink: JournalSink) {
    self.init(host: host, sink: sink, patience: .init())
  }

  init(host: HubHost, sink: JournalSink, patience: CasterVisit.Patience) {
    self.host = host
    self.sink = sink
    self.patience = patience
  }

  public func run() async throws {
    let boards = begin()
    await untilShutdown()
    boards.cancel()
    end()
  }

  func begin() -> Subscription {
    host.hub.registry.subscribe(as: "corrections", receiveValue: { [self] in serve($0) })
  }

  func end() { replace(by: []) }

  private func serve(_ devices: DeviceRegistry) {
    let old = supplies.withLock { $0 }
    replace(
      by: devices.correctedReceivers.map { id, caster, corrections in
        // A receiver whose caster has not changed keeps its client, and with it the connection.
        if let same = old.first(where: { $0.client.corrections === corrections && $0.client.caster == caster }) {
          return same
        }
        return Supply(
          CorrectionClient(id, caster, corrections, sink: sink, version: host.version, patience: patience))
      })
  }

  private func replace(by new: [Supply]) {
    let old = supplies.withLock { supplies in
      defer { supplies = new }
      return supplies
    }
    for supply in old where !new.contains(where: { $0 === supply }) {
      supply.end()
      // If no other client now serves this receiver, remove the old client's status and warning.
      if !new.contains(where: { $0.client.corrections === supply.client.corrections }) {
        supply.client.corrections.note(nil)
        supply.client.corrections.setWarning(nil)
      }
    }
  }
}
