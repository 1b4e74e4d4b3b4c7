import Hub
import NMEA
import Publishing
import ServiceLifecycle

/// Watches the fences of the board file and the added ones, writes their events to the journal, and sends every change
/// of their status to `host.fenceEvents`.
public final class FenceOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let memory: FenceMemory?
  private let file: AddedFenceFile?

  /// - Parameters:
  ///   - memory: whether the board was inside or outside each fence when the hub last ran
  ///   - file: the fences that were added while the hub ran
  public init(host: HubHost, sink: JournalSink, memory: FenceMemory? = nil, file: AddedFenceFile? = nil) {
    self.file = file
    self.host = host
    self.sink = sink
    self.memory = memory
  }

  public func run() async throws {
    let boards = host.hub.registry.subscribe(
      as: "fences",
      receiveValue: { [host, sink, memory, file] _ in
        host.fences.follow(host.hub, memory: memory, file: file) { [weak host] status in
          FenceOutput.write(status, to: sink)
          host?.fenceEvents.send(status)
        }
      })
    await untilShutdown()
    boards.cancel()
    host.fences.end()
  }

  private static func write(_ status: FenceStatus, to sink: JournalSink) {
    guard let event = status.event else { return }
    var fields = [
      JournalSink.Field("SENSORHUB_EVENT", "fence"), .init("SENSORHUB_FENCE", status.name),
      .init("SENSORHUB_FENCE_EVENT", event.rawValue), .init("SENSORHUB_FENCE_STATE", status.state.rawValue),
    ]
    if let fix = status.fix, let beyond = status.metresBeyond {
      fields += [
        .init("SENSORHUB_LATITUDE", Text.fixed(fix.place.latitudeDegrees, 7)),
        .init("SENSORHUB_LONGITUDE", Text.fixed(fix.place.longitudeDegrees, 7)),
        .init("SENSORHUB_SIGMA_HORIZONTAL", Text.fixed(fix.sigmaMetres, 2)),
        .init("SENSORHUB_FENCE_BEYOND", Text.fixed(beyond, 1)),
      ]
    }
    sink.write(FenceOutput.priority(of: event), FenceOutput.text(event, status), fields: fields)
  }

  /// The priority of an event in the journal. It is highest when a fence gets no fixes, and next when the board has
  /// left a fence.
  static func priority(of event: FenceStatus.Event) -> JournalSink.Priority {
    switch event {
    case .lost: .error
    case .leave: .warning
    case .enter, .found: .notice
    }
  }

  static func text(_ event: FenceStatus.Event, _ status: FenceStatus) -> String {
    let what =
      switch event {
      case .enter: "entered"
      case .leave: "left"
      case .found: "the board is \(status.state.rawValue)"
      case .lost: "no fix that shows on which side of the edge the board is"
      }
    guard let fix = status.fix, let beyond = status.metresBeyond else { return "fence \(status.name): \(what)" }
    return "fence \(status.name): \(what)\(event == .lost ? "; the last one was" : ",") "
      + "\(Text.fixed(abs(beyond), 0)) m \(beyond > 0 ? "beyond" : "within") the edge, at "
      + "\(Text.fixed(fix.place.latitudeDegrees, 6)), \(Text.fixed(fix.place.longitudeDegrees, 6)) "
      + "(sigma \(Text.fixed(fix.sigmaMetres, 1)) m)"
  }
}
