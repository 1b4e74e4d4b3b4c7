import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// Encodes the objects of one state once for all clients, and in one piece: the position first, then the receiver's
/// errors, the attitude and the satellites.
///
/// Some clients, such as Home Assistant's (gps3), look five times a second and read only the first waiting line.
/// Therefore the other objects of an epoch follow its position. Sometimes the satellites come first, so that these
/// clients read them too (`leadInterval`). The errors never come first, because Home Assistant's client has one
/// variable `lat` for the degrees of a `TPV` and the metres of a `GST`.
final class GPSDMoments: Sendable {
  private struct State {
    /// The number of clients that receive these objects.
    var listeners = 0
    /// Decides which states are sent. The choice is the same for all clients, whenever they connected.
    var rate = EpochRate()
    /// Whether the last written objects contain a `TPV`, with or without a position.
    var statesPosition = false
    var positionTime = MonotonicUTCFilter()
    /// The time of the last sent position. An epoch without a position does not repeat it.
    var lastPosition: MonotonicInstant?
    var errorsTime = MonotonicUTCFilter()
    var skyTime = MonotonicUTCFilter()
    var attitudeTime = MonotonicUTCFilter()
    /// The time of the receiver's epoch at the previous state. Its values are not sent again.
    var lastEpoch: MonotonicInstant?
    /// When the satellites were last sent before the other objects of their epoch. Before the first such time, this is
    /// when satellites first arrived.
    var lastLead: MonotonicInstant?
    var cycle = Cycle()
  }

  /// The interval between the receiver's epochs, from the times that they report.
  private struct Cycle {
    /// The start of the receiver's present run, and the last time that it reported.
    private var last: (run: MonotonicInstant, nanoseconds: Int64)?
    private(set) var seconds: Double?

    mutating func take(_ time: UTCTime?, run: MonotonicInstant) {
      guard let nanoseconds = time?.nanosecondsSince1970 else { return }
      if let last, last.run == run, nanoseconds > last.nanoseconds {
        seconds = Double(nanoseconds - last.nanoseconds) / 1e9
      } else {
        seconds = nil
      }
      last = (run, nanoseconds)
    }
  }

  /// The shortest interval between two epochs whose satellites come first. It is no multiple of a client's interval of
  /// 200 ms, so the satellites come at a different point of that interval each time.
  private static let leadInterval = Duration.milliseconds(2020)

  private let host: HubHost
  private let includesAttitude: Bool
  private let encoding = SharedEncoding(lineEnd: "\r\n")
  private let state = Guarded(State())

  init(host: HubHost, includesAttitude: Bool) {
    self.host = host
    self.includesAttitude = includesAttitude
  }

  /// The time from one of the receiver's epochs to the next; `nil` before the second epoch.
  var cycleSeconds: Double? { state.withLock { $0.cycle.seconds } }

  /// Adds a client.
  ///
  /// - Parameter present: the state that the client receives separately; for the first client it counts as already sent
  func enter(after present: FusedState?) {
    state.withLock { state in
      if state.listeners == 0 {
        state.rate = EpochRate()
        if let present { _ = state.rate.take(present) }
      }
      state.listeners += 1
    }
  }

  func leave() { state.withLock { $0.listeners -= 1 } }

  /// Passes the lines of a state to `body`, if the state is due and contains anything new.
  func withBytes(of fused: FusedState, _ body: (UnsafeBufferPointer<UInt8>, _ statesPosition: Bool) -> Void) {
    encoding.withBytes(
      at: fused.at,
      encode: { json in state.withLock { if $0.rate.take(fused) { write(fused, &$0, to: &json) } } }
    ) { bytes in
      if !bytes.isEmpty { body(bytes, state.withLock { $0.statesPosition }) }
    }
  }

  private func write(_ fused: FusedState, _ state: inout State, to json: inout JSONWriter) {
    let hub = host.hub
    let device = hub.gpsdDevice
    let receiver = hub.receivers.taken?.reader.device
    let latest = receiver?.source.latest
    let epoch = latest.flatMap { $0.at == state.lastEpoch ? nil : $0 }
    state.lastEpoch = latest?.at
    if let epoch, let run = receiver?.source.activity.value.since {
      state.cycle.take(epoch.fix.time, run: run)
    }
    let sky = epoch.flatMap { !$0.sky.isEmpty && state.skyTime.take($0.fix.time) ? $0 : nil }
    let leads = sky.map { GPSDMoments.leads($0, &state) } ?? false
    func writeSky() {
      guard let sky else { return }
      GPSDReport.writeSkyObject(sky, device: device, to: &json)
      json.endLine()
    }
    if leads { writeSky() }
    let isKnown = fused.position != nil && fused.position?.at == state.lastPosition
    state.statesPosition = !isKnown && state.positionTime.take(fused.positionTime)
    if state.statesPosition {
      state.lastPosition = fused.position?.at
      GPSDReport.writePositionObject(fused, reception: latest, device: device, to: &json)
      json.endLine()
      // The errors are sent only after a position, because they must never come first.
      if let errors = epoch?.errorStatistics, state.errorsTime.take(errors.time) {
        GPSDReport.writeErrorsObject(errors, device: device, to: &json)
        json.endLine()
      }
    }
    if includesAttitude, let path = hub.imuPath, let attitude = fused.attitude,
      state.attitudeTime.take(fused.utc(at: attitude.at))
    {
      GPSDReport.writeAttitude(fused, device: path, to: &json)
    }
    if !leads { writeSky() }
  }

  private static func leads(_ sky: GNSSObservation, _ state: inout State) -> Bool {
    guard let last = state.lastLead else {
      state.lastLead = sky.at
      return false
    }
    guard sky.at - last > leadInterval else { return false }
    state.lastLead = sky.at
    return true
  }
}
