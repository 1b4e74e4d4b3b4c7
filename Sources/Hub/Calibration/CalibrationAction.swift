import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

extension Hub {
  /// Calibrates an IMU or a magnetometer with its own measurements. The calibration of a gyroscope also uses the
  /// board's magnetometers, and the calibration of a mount needs the receiver's speed. The action sends the session
  /// after each burst, and finishes once the session has a result or a problem. Cancelling it releases the devices.
  ///
  /// Each call makes another action, and an action knows only its own calibrations. The caller ensures that a device is
  /// not calibrated twice at the same time.
  ///
  /// - Parameter id: the device's ID
  public func calibration(of id: String) -> Action<CalibrationKind, CalibrationSession, HardwareError> {
    let devices = registry.value
    let (imu, magnetometer, receiver) = (devices.imu(id), devices.magnetometer(id), receiver)
    let witnesses = devices.magnetometers
    return Action { kind in
      LazyPublisher<CalibrationSession, HardwareError>(
        deriving: "calibration",
        activating: { (run) throws(HardwareError) in
          let work = CalibrationWork(kind, run)
          let lifetime = Lifetime()
          if kind == .mag {
            magnetometer?.source.subscribe(
              as: run.holders, receiveValue: { work.receive($0) }, receiveCompletion: { run.finish($0) }
            ).store(in: lifetime)
          } else {
            imu?.source.subscribe(
              as: run.holders, receiveValue: { work.receive($0) }, receiveCompletion: { run.finish($0) }
            ).store(in: lifetime)
          }
          if kind == .gyro {
            // A constant magnetic field shows that the sensor does not turn. The failure of one of these magnetometers
            // does not end the calibration.
            for witness in witnesses {
              witness.source.subscribe(
                as: run.holders, receiveValue: { work.receive($0, isWitness: true) }, receiveCompletion: { _ in }
              ).store(in: lifetime)
            }
          }
          if kind == .mount {
            receiver?.device.source.subscribe(
              as: run.holders, receiveValue: { work.receive($0) }, receiveCompletion: { run.finish($0) }
            ).store(in: lifetime)
          }
          return Subscription { lifetime.end() }
        })
    }
  }
}

private final class CalibrationWork: Sendable {
  private let run: ActivationContext<CalibrationSession, HardwareError>
  private let state: Guarded<(session: CalibrationSession, last: MonotonicInstant?)>

  init(_ kind: CalibrationKind, _ run: ActivationContext<CalibrationSession, HardwareError>) {
    self.run = run
    state = Guarded((CalibrationSession(kind), nil))
  }

  func receive(_ batch: IMUBatch) {
    let session = state.withLock { state in
      if batch.followsGap { state.last = nil }
      for index in 0..<batch.count {
        let sample = batch[index]
        if let last = state.last {
          state.session.add(
            gyroscope: SIMD3<Double>(sample.gyroscope), accelerometer: SIMD3<Double>(sample.accelerometer),
            seconds: (sample.at - last).inSeconds)
        }
        state.last = sample.at
      }
      return state.session
    }
    run.send(session)
    if session.progress >= 1 || session.problem != nil { run.finish(.finished) }
  }

  /// - Parameter isWitness: whether the magnetometer only helps to calibrate another sensor
  func receive(_ sample: MagnetometerSample, isWitness: Bool = false) {
    let session = state.withLock { state in
      state.session.add(magnetometer: SIMD3<Double>(sample.field))
      return state.session
    }
    if isWitness { return }
    run.send(session)
    if session.progress >= 1 { run.finish(.finished) }
  }

  func receive(_ observation: GNSSObservation) {
    guard let speed = observation.fix.speedMetresPerSecond else { return }
    state.withLock { state in
      state.session.add(speed: speed, time: Double(observation.at.nanoseconds) / 1e9)
    }
  }
}
