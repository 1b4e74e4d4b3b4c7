import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing
import ServiceLifecycle

/// Writes every power and device event to the journal, and, if requested, the fused state once a second.
///
/// For the events it only observes. For the state it subscribes, so it keeps the devices awake.
public final class JournalOutput: Service {
  private let host: HubHost
  private let sink: JournalSink
  private let writesState: Bool?

  /// - Parameter writesState: whether to write the state; `nil` follows the board file
  public init(host: HubHost, sink: JournalSink, writesState: Bool?) {
    self.host = host
    self.sink = sink
    self.writesState = writesState
  }

  public func run() async throws {
    let lifetime = Lifetime()
    host.hub.registry.subscribe(
      as: "journal",
      receiveValue: { [self, hub = host.hub] devices in
        let perBoard = Lifetime()
        // Log also the last events of devices that are being switched off.
        for monitor in hub.leavingMonitors + devices.monitors {
          let log = DeviceLog(sink: sink)
          monitor.changes.subscribe(as: "journal", receiveValue: { log.receive($0) }).store(in: perBoard)
        }
        if writesState ?? devices.board.journalsState {
          let mark = hub.origin.mark.map { "\($0)  " } ?? ""
          hub.state(rateHz: 1).subscribe(
            as: "journal", receiveValue: { [sink] in JournalOutput.write($0, mark, to: sink) }
          ).store(in: perBoard)
        }
        present.withLock { $0 = perBoard }
      }
    ).store(in: lifetime)
    await untilShutdown()
    lifetime.end()
    present.withLock { $0 }?.end()
  }

  private let present = Guarded<Lifetime?>(nil)

  private static func write(_ state: FusedState, _ mark: String, to sink: JournalSink) {
    var fields = [JournalSink.Field("SENSORHUB_EVENT", "state"), .init("SENSORHUB_MODE", state.mode.rawValue)]
    func add(_ name: String, _ value: Double?, _ decimals: Int) {
      if let value { fields.append(.init("SENSORHUB_\(name)", Text.fixed(value, decimals))) }
    }
    if let position = state.position {
      add("LATITUDE", position.value.latitudeDegrees, 7)
      add("LONGITUDE", position.value.longitudeDegrees, 7)
      add("ALTITUDE_MSL", position.value.altitudeMSLMetres, 1)
      add("SIGMA_HORIZONTAL", position.value.horizontalSigmaMetres, 2)
      add("POSITION_AGE", state.age(of: position)?.inSeconds, 3)
    }
    add("SPEED", state.motion?.value.speedMetresPerSecond, 2)
    add("TRACK", state.motion?.value.trackDegrees.map { Angle.bearing($0, decimals: 1) }, 1)
    if let attitude = state.attitude?.value {
      let degrees = 180 / Double.pi
      add("ROLL", attitude.quaternion.roll * degrees, 2)
      add("PITCH", attitude.quaternion.pitch * degrees, 2)
      // Without a heading the yaw is omitted, because any number would look valid.
      if attitude.headingSigmaRadians != nil { add("YAW", attitude.quaternion.yaw * degrees, 2) }
    }
    if let fix = state.fix?.value {
      fields.append(.init("SENSORHUB_FIX_MODE", "\(fix.mode)"))
      if let used = fix.satellitesUsed { fields.append(.init("SENSORHUB_SATELLITES_USED", "\(used)")) }
    }
    sink.write(.info, mark + StateLine.text(state), fields: fields)
  }
}
