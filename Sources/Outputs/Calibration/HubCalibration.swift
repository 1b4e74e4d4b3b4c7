import Guarding
import Hub
import Publishing

/// A calibration that a client of `hub.sock` has requested. It holds a power lease of the chip, and ends with the
/// client's connection.
///
/// Lines of JSON report its progress, and the last line reports the stored result or the reason of the failure.
final class HubCalibration: Sendable {
  private struct State {
    var subscription: Subscription?
    var session: CalibrationSession
    /// Whether the measurement has ended: it is complete, it has failed, or the client has left.
    var isOver = false
  }

  private let connection: StreamConnection
  private let host: HubHost
  private let store: any CalibrationStore
  private let chip: DeviceDescription
  private let kind: CalibrationKind
  private let state: Guarded<State>

  /// Starts a calibration.
  ///
  /// - Returns: `nil` if the calibration cannot start; the client has then received the reason
  static func begin(
    _ kind: CalibrationKind, of id: String?, as holder: Holder, for connection: StreamConnection, by host: HubHost
  ) -> HubCalibration? {
    do throws(CalibrationRefusal) {
      guard host.replay == nil, let store = host.calibrations else {
        throw CalibrationRefusal(
          "a replay has no chips", nextStep: "end it, and start a hub on the board: sensorhub run --board …")
      }
      // The result affects all clients and later runs of the hub, so the client needs the right to change the hub.
      guard LocalRights.mayChange(connection.descriptor) else {
        throw CalibrationRefusal(
          "you may not calibrate the hub's sensors: \(LocalRights.lack)", reason: .noPermission,
          nextStep: LocalRights.nextStep(for: "sensorhub calibrate \(kind.rawValue)"))
      }
      let hub = host.hub
      let chip = try hub.board.device(for: kind, named: id)
      let own = LocalRights.title(holder.label, connection.descriptor)
      let other = host.calibrator.withLock { calibrator in
        defer { calibrator = calibrator ?? own }
        return calibrator
      }
      if let other { throw CalibrationRefusal.busy(with: other) }
      let calibration = HubCalibration(connection, host, store, chip, kind)
      calibration.start(hub, as: holder)
      return calibration
    } catch {
      refuse(error, on: connection)
      return nil
    }
  }

  private init(
    _ connection: StreamConnection, _ host: HubHost, _ store: any CalibrationStore, _ chip: DeviceDescription,
    _ kind: CalibrationKind
  ) {
    self.connection = connection
    self.host = host
    self.store = store
    self.chip = chip
    self.kind = kind
    state = Guarded(State(session: CalibrationSession(kind)))
  }

  private func start(_ hub: Hub, as holder: Holder) {
    tell(CalibrationSession(kind))
    host.rehearsal?.begin(kind, of: chip)
    let subscription = hub.calibration(of: chip.id).apply(kind).subscribe(
      as: holder, receiveValue: { [weak self] in self?.receive($0) },
      receiveCompletion: { [weak self] completion in
        if case .failed(let error) = completion {
          self?.fail(CalibrationRefusal("\(error)", nextStep: "sensorhub devices shows the state of the device"))
        } else {
          self?.complete()
        }
      })
    let isTooLate = state.withLock { state in
      if !state.isOver { state.subscription = subscription }
      return state.isOver
    }
    if isTooLate { subscription.cancel() }
  }

  private func receive(_ session: CalibrationSession) {
    let isNews = state.withLock { state in
      let before = state.session
      state.session = session
      return Int(session.progress * 100) != Int(before.progress * 100) || session.instruction != before.instruction
    }
    if isNews { tell(session) }
  }

  /// Completes the calibration. It runs on a reader's thread, which must not wait for a disk, so another thread stores
  /// the result.
  private func complete() {
    guard let session = finish() else { return }
    let error = DetachedThread.start("calibration") { [self] in
      do throws(CalibrationRefusal) {
        let stored = try store.store(session, of: chip)
        free()
        answer { json in
          json.member("progress", 1, decimals: 0)
          json.member("quality", stored.quality, decimals: 9)
          json.member("file", stored.file)
        }
        connection.hangUp()
      } catch {
        free()
        HubCalibration.refuse(error, on: connection)
      }
    }
    guard error != 0 else { return }
    free()
    HubCalibration.refuse(
      CalibrationRefusal("the hub cannot start a thread to store the result", nextStep: "try again"), on: connection)
  }

  private func fail(_ refusal: CalibrationRefusal) {
    guard finish() != nil else { return }
    free()
    HubCalibration.refuse(refusal, on: connection)
  }

  /// Ends the calibration because the client has left.
  func end() {
    if finish() != nil { free() }
  }

  /// Lets the next calibration start. Call this before the client learns of the end, because its next request must
  /// not be refused.
  private func free() {
    host.rehearsal?.end()
    host.calibrator.withLock { $0 = nil }
  }

  /// Ends the measurement and its power lease.
  ///
  /// - Returns: the measurements; `nil` on later calls
  private func finish() -> CalibrationSession? {
    let (session, subscription) = state.withLock { state -> (CalibrationSession?, Subscription?) in
      guard !state.isOver else { return (nil, nil) }
      state.isOver = true
      defer { state.subscription = nil }
      return (state.session, state.subscription)
    }
    subscription?.cancel()
    return session
  }

  private func tell(_ session: CalibrationSession) {
    answer { json in
      json.member("progress", session.progress, decimals: 3)
      json.member("instruction", session.instruction)
    }
  }

  private func answer(_ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter(capacity: 512)
    json.beginObject()
    json.member("class", "CALIBRATION")
    json.member("kind", kind.rawValue)
    json.member("device", chip.id)
    write(&json)
    json.endObject()
    json.endLine()
    connection.answer(json.bytes)
  }

  private static func refuse(_ refusal: CalibrationRefusal, on connection: StreamConnection) {
    var json = JSONWriter(capacity: 512)
    json.beginObject()
    json.member("class", "ERROR")
    json.member("reason", refusal.reason.rawValue)
    json.member("message", refusal.message)
    json.member("nextStep", refusal.nextStep)
    json.endObject()
    json.endLine()
    connection.answer(json.bytes)
    connection.hangUp()
  }
}
