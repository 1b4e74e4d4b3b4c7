import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import ServiceLifecycle

/// Writes every power and device event to the journal, and the fused state once a second where that was asked for.
///
/// Events only observe. The state is a subscription like any other: it keeps the devices awake.
public final class JournalOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let writesState: Bool?

  /// - Parameter writesState: whether to write the state; `nil` to do as the board file says
  public init(host: HubHost, sink: JournalSink, writesState: Bool?) {
    self.host = host
    self.sink = sink
    self.writesState = writesState
  }

  public func run() async throws {
    let lifetime = Lifetime()
    host.hub.subscribe(
      as: "journal",
      receiveValue: { [self] hub in
        let perHub = Lifetime()
        for monitor in hub.monitors {
          let log = DeviceLog(sink: sink)
          monitor.changes.subscribe(as: "journal", receiveValue: { log.receive($0) }).store(in: perHub)
        }
        if writesState ?? hub.board.journalsState {
          hub.state(rateHz: 1).subscribe(as: "journal", receiveValue: { [sink] in JournalOutput.write($0, to: sink) })
            .store(in: perHub)
        }
        present.withLock { $0 = perHub }
      }
    ).store(in: lifetime)
    try? await gracefulShutdown()
    lifetime.end()
    present.withLock { $0 }?.end()
  }

  private let present = Guarded<Lifetime?>(nil)

  private static func write(_ state: FusedState, to sink: JournalSink) {
    var fields = [JournalSink.Field("SENSORHUB_EVENT", "state"), .init("SENSORHUB_MODE", state.mode.rawValue)]
    if let position = state.position?.value {
      fields.append(.init("SENSORHUB_LATITUDE", "\(position.latitudeDegrees)"))
      fields.append(.init("SENSORHUB_LONGITUDE", "\(position.longitudeDegrees)"))
    }
    sink.write(.info, StateLine.text(state), fields: fields)
  }
}
