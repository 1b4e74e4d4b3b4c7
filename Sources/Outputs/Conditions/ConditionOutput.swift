import Hub
import Publishing
import ServiceLifecycle

/// Writes the lasting problems of devices to the journal, and makes `host.conditions` check the devices of the hub in
/// service.
public final class ConditionOutput: Service {
  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let log = ConditionLog(sink: sink, clock: host.hub.machine.clock)
    let lines = host.conditions.changes.subscribe(as: "journal", receiveValue: { log.receive($0) })
    let boards = host.hub.registry.subscribe(
      as: "conditions", receiveValue: { [host] in host.conditions.follow($0.monitors) })
    await untilShutdown()
    boards.cancel()
    lines.cancel()
    host.conditions.end()
  }
}
