import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Refines the stored offset of each magnetometer while clients keep the magnetometer awake. It wakes no device itself.
/// A better offset is stored as `calibrate mag` stores its result.
public final class BackgroundCalibration: Sendable {
  private struct Refining {
    /// The calibration of the board in service.
    var calibration: InertialCalibration
    /// The calibration in the store: that of the board at first, later the last result that this type has stored.
    var stored: InertialCalibration
    var refiner: MagneticOffsetRefiner
  }

  private struct State {
    /// The refinements in progress, by device ID.
    var refining: [String: Refining] = [:]
    /// The last error of each device whose result could not be stored.
    var problems: [String: String] = [:]
  }

  private let host: HubHost
  private let sink: JournalSink
  private let state = Guarded(State())
  private let boards = Lifetime()
  private let devices = Guarded(Lifetime())

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  /// Observes the magnetometers with a stored offset. After a change of the board, observes those of the new board.
  public func begin() {
    guard host.calibrations != nil else { return }
    host.hub.registry.subscribe(as: "calibration", receiveValue: { [weak self] in self?.follow($0.board) }).store(
      in: boards)
  }

  public func end() {
    boards.end()
    devices.withLock { $0 }.end()
  }

  private func follow(_ board: Board) {
    let lifetime = Lifetime()
    for case .magnetometer(let chip) in board.devices where begin(chip) {
      host.hub.observedFields(of: chip.id).subscribe(
        as: "calibration", receiveValue: { [weak self] in self?.take($0, of: chip.id) }
      ).store(in: lifetime)
    }
    devices.withLock { old in
      defer { old = lifetime }
      return old
    }.end()
  }

  /// Begins to refine a chip's offset. If the stored calibration has changed, the earlier samples are discarded.
  ///
  /// - Returns: whether the chip has a stored offset to refine
  private func begin(_ chip: MagnetometerDescription) -> Bool {
    let calibration = chip.calibration.values
    guard let refiner = MagneticOffsetRefiner(calibration) else { return false }
    state.withLock { state in
      if state.refining[chip.id]?.calibration == calibration { return }
      state.refining[chip.id] = Refining(calibration: calibration, stored: calibration, refiner: refiner)
    }
    return true
  }

  /// Processes a sample. Runs on the reader's thread.
  private func take(_ sample: MagnetometerSample, of id: String) {
    let result = state.withLock { state -> MagneticOffsetRefiner.Result? in
      guard
        let result = state.refining[id]?.refiner.add(
          SIMD3<Double>(sample.field), time: Double(sample.at.nanoseconds) / 1e9)
      else { return nil }
      // Begin the next refinement with the calibration that this result is about to store.
      if let refiner = MagneticOffsetRefiner(result.refined) { state.refining[id]?.refiner = refiner }
      return result
    }
    guard let result else { return }
    // The reader must not wait for a disk.
    let error = DetachedThread.start("calibration") { [weak self] in self?.store(result, of: id) }
    if error != 0 { discard(id) }
  }

  /// Discards a result that could not be stored, and starts again from the stored calibration. Only a refinement of the
  /// stored calibration can be stored.
  private func discard(_ id: String) {
    state.withLock { state in
      guard let stored = state.refining[id]?.stored, let refiner = MagneticOffsetRefiner(stored) else { return }
      state.refining[id]?.refiner = refiner
    }
  }

  private func store(_ result: MagneticOffsetRefiner.Result, of id: String) {
    guard let store = host.calibrations, let chip = host.hub.board.devices.first(where: { $0.id == id }) else {
      return
    }
    do throws(CalibrationRefusal) {
      _ = try store.store(result, of: chip)
      state.withLock { state in
        state.problems[id] = nil
        if state.refining[id]?.stored == result.replaced { state.refining[id]?.stored = result.refined }
      }
      sink.write(.notice, "\(id): \(BackgroundCalibration.text(result)); the hub uses it from the next start or reload")
    } catch {
      discard(id)
      let isNews = state.withLock { state in
        defer { state.problems[id] = error.message }
        return state.problems[id] != error.message
      }
      if isNews { sink.write(.warning, "\(id): a refined offset is not stored: \(error); \(error.nextStep)") }
    }
  }

  private static func text(_ result: MagneticOffsetRefiner.Result) -> String {
    func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
    return "magnetometer offset refined by \(tenths(result.movedMicrotesla)) µT in use "
      + "(the field's length deviates by \(tenths(100 * result.quality)) %, before by \(tenths(100 * result.qualityBefore)) %)"
  }
}

extension MagneticOffsetRefiner.Result {
  fileprivate var refined: InertialCalibration {
    var calibration = replaced
    calibration.magnetometerOffset = offset
    return calibration
  }
}
