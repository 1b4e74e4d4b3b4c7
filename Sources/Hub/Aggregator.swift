import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

/// Fuses what the readers send into one state. A publisher derived from theirs: subscribing to it is what subscribes to
/// them, so laziness carries through.
///
/// Measurements are taken in the order of their own times. IMU samples come in bursts, a little late; a fix waits until
/// the burst has come that reaches its time.
final class Aggregator: Sendable {
  /// How long a fix waits for the IMU; after that the IMU is taken to be silent.
  private static let patience = Duration.milliseconds(200)

  private struct State: Sendable {
    var estimator: StateEstimator<ComplementaryFilter>
    var waiting: GNSSObservation?
  }

  private let mount: MountMatrix
  private let clock: any MonotonicTimeSource
  private let run: Activating<FusedState, Never>
  private let state: Guarded<State>

  private init(mount: MountMatrix, clock: any MonotonicTimeSource, run: Activating<FusedState, Never>) {
    self.mount = mount
    self.clock = clock
    self.run = run
    state = Guarded(State(estimator: StateEstimator(filter: ComplementaryFilter(), at: clock.now)))
  }

  /// The fused state as a lazy publisher.
  ///
  /// - Parameter retryHint: names the devices that are worth another try at once, because they were plugged in
  static func publisher(
    gps: GPSReader?, imu: IMUReader?, mount: MountMatrix, clock: any MonotonicTimeSource, retryHint: Trigger<String>
  ) -> LazyPublisher<FusedState, Never> {
    LazyPublisher(
      "state", clock: clock,
      activating: { (run) throws(Never) in
        let aggregator = Aggregator(mount: mount, clock: clock, run: run)
        let lifetime = Lifetime()
        // A device that comes back should be seen within a second or two; trying more often only fills the journal.
        let backoff = Backoff(initial: .milliseconds(250), maximum: .seconds(1))
        imu?.publisher.retrying(backoff, hint: retryHint.signal(for: "imu"), clock: clock).subscribe(
          as: "state", receiveValue: { aggregator.receive($0) }
        ).store(in: lifetime)
        gps?.publisher.retrying(backoff, hint: retryHint.signal(for: "gps"), clock: clock).subscribe(
          as: "state", receiveValue: { aggregator.receive($0) }
        ).store(in: lifetime)
        return Subscription { lifetime.end() }
      })
  }

  private func receive(_ batch: IMUBatch) {
    publish { state in
      for index in 0..<batch.count {
        let sample = batch[index]
        if let fix = state.waiting, fix.at <= sample.at { apply(fix, &state) }
        state.estimator.update(
          gyroscope: mount.apply(SIMD3<Double>(sample.gyroscope)),
          accelerometer: mount.apply(SIMD3<Double>(sample.accelerometer)), at: sample.at, source: "imu")
      }
    }
  }

  private func receive(_ observation: GNSSObservation) {
    publish { state in
      // Two fixes without a burst between them: the older one has waited long enough.
      if let older = state.waiting { apply(older, &state) }
      if let newest = state.estimator.newestSample, newest < observation.at,
        clock.now - newest < Aggregator.patience
      {
        state.waiting = observation
      } else {
        apply(observation, &state)
      }
    }
  }

  private func apply(_ observation: GNSSObservation, _ state: inout State) {
    state.waiting = nil
    state.estimator.update(
      fix: observation.quality, position: observation.position, motion: observation.motion, at: observation.at,
      source: "gps")
  }

  /// Changes the state and queues it under the lock, so that states leave in the order in which they came about.
  private func publish(_ change: (inout State) -> Void) {
    let mustDeliver = state.withLock { state in
      change(&state)
      return run.stage(state.estimator.state(at: clock.now))
    }
    if mustDeliver { run.deliver() }
  }
}

extension GNSSObservation {
  var quality: FusedState.FixQuality {
    FusedState.FixQuality(
      mode: Int(fix.mode.rawValue), status: Int(fix.status.rawValue), satellitesUsed: fix.satellitesUsed.map(Int.init),
      hdop: fix.hdop, utcNanoseconds: fix.time?.nanosecondsSince1970)
  }

  var position: FusedState.Position? {
    guard fix.mode >= .twoDimensional, let position = fix.position else { return nil }
    return FusedState.Position(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
      altitudeHAEMetres: fix.altitudeHAEMetres, altitudeMSLMetres: fix.altitudeMSLMetres,
      horizontalSigmaMetres: horizontalSigma, verticalSigmaMetres: verticalSigma)
  }

  var motion: FusedState.Motion? {
    guard fix.mode >= .twoDimensional, let speed = fix.speedMetresPerSecond else { return nil }
    return FusedState.Motion(
      speedMetresPerSecond: speed, trackDegrees: fix.trackDegrees, climbMetresPerSecond: fix.climbMetresPerSecond)
  }

  /// The receiver's own, or the dilution of precision times what satellite ranges are usually off by.
  private var horizontalSigma: Double? {
    if let latitude = errorStatistics?.statistics.latitudeSigmaMetres,
      let longitude = errorStatistics?.statistics.longitudeSigmaMetres
    {
      return ((latitude * latitude + longitude * longitude) / 2).squareRoot()
    }
    return fix.horizontalErrorMetres ?? fix.hdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  private var verticalSigma: Double? {
    errorStatistics?.statistics.altitudeSigmaMetres ?? fix.verticalErrorMetres
      ?? fix.vdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  private static let rangeSigmaMetres = 5.0
}
