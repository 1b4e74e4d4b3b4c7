import Devices
import Fusion
import MonotonicTime
import Publishing

/// The streams of the hub for its clients. After a change of board, each subscription continues with the new devices.
extension Hub {
  // MARK: The fused state

  /// The last fused state, however old. A subscription wakes nothing.
  public var lastState: Property<FusedState?> { states.log.lastState.readOnly }

  /// Whether a client uses the fused state, and since when.
  public var fusionRun: Property<FusionRun> { states.log.fusionRun.readOnly }

  /// The fused state, at the rate at which it changes. A subscription powers all fused devices.
  public var state: Deferred<FusedState, Never> { state(parts: .all) }

  /// The fused state of all awake devices, at the rate at which it changes. A subscription powers the devices that
  /// measure the given parts of the state. The other parts are included while other clients keep their devices awake.
  public func state(parts: Set<StatePart>) -> Deferred<FusedState, Never> { states.states(rateHz: nil, parts: parts) }

  /// The fused state at the subscriber's rate, or at the rate in the board file. All subscribers of the same rate of at
  /// least 1 Hz get the same values at the same instants.
  ///
  /// - Parameter rateHz: the rate; `nil` for the rate in the board file
  public func state(rateHz: Double?, parts: Set<StatePart> = .all) -> Deferred<FusedState, Never> {
    guard let rateHz else { return states.statesAtRateOfBoard(parts: parts) }
    return states.states(rateHz: rateHz, parts: parts)
  }

  /// The fused state for clients that need its attitude; no values on a board without an inertial sensor.
  ///
  /// - Parameter rateHz: the rate; `nil` for the rate in the board file
  public func attitudes(rateHz: Double?) -> Deferred<FusedState, Never> {
    registry.switchToLatest(by: { AttitudeSource($0) }) { [self] devices in
      switch AttitudeSource(devices) {
      case .none: Empty(completesImmediately: false)
      // Without a magnetometer, a request for a heading would wake the receiver.
      case .inertial: state(rateHz: rateHz, parts: [.attitude, .rates, .acceleration])
      case .withCompass:
        state(rateHz: rateHz, parts: [.attitude, .rates, .acceleration, .heading, .magneticField])
      }
    }
  }

  /// The fused state while other clients keep devices awake. A subscription wakes no device.
  public var observedStates: Deferred<FusedState, Never> { lastState.compactMap { $0 } }

  /// The last state of the present run, unless it is older than `lifetime`; `nil` without a run.
  public func presentState(at now: MonotonicInstant, within lifetime: Duration) -> FusedState? {
    let activity = states.fused.activity.value
    guard activity.phase == .running, let last = lastState.value, last.at >= activity.since, now - last.at <= lifetime
    else { return nil }
    return last
  }

  // MARK: Receivers

  /// The epochs of the selected receiver while other clients keep it awake. Wakes nothing.
  public var observedEpochs: Deferred<GNSSObservation, Never> {
    Deferred { [registry, clock = machine.clock] _ in
      let repeated = RepeatedEpochs()
      return registry.switchToLatest(by: { ObjectIdentifier($0.receivers) }) {
        $0.receivers.observedEpochs(clock: clock)
      }.compactMap { repeated.isNew($0) ? $0 : nil }
    }
  }

  /// The epochs of the selected receiver.
  ///
  /// - Parameter wakes: whether a subscription wakes the receivers
  public func epochs(wakes: Bool) -> Deferred<GNSSObservation, Never> {
    wakes ? Deferred { [epochs] _ in epochs } : observedEpochs
  }

  /// Passes on the output of the selected receiver while other clients keep it awake. Wakes nothing.
  public func observeSentences(_ receive: @escaping @Sendable (ReceiverOutput) -> Void) -> Subscription {
    let repeated = RepeatedEpochs()
    return registry.holdLatest(by: { ObjectIdentifier($0.receivers) }, as: Holders("sentences")) {
      $0.receivers.outputs { if repeated.isNew($0) { receive($0) } }
    }
  }

  /// The output of one receiver, whether the fusion uses it or not; no values for an unknown ID. A subscription wakes
  /// it.
  ///
  /// - Parameter id: the receiver; `nil` for the selected one
  public func sentences(of id: String?) -> Deferred<ReceiverOutput, Never> {
    guard let id else { return Deferred { [sentences] _ in sentences } }
    return registry.switchToLatest(by: { $0.receiver(id).map { ObjectIdentifier($0.reader) } }) {
      [clock = machine.clock] devices in
      guard let reader = devices.receiver(id)?.reader else { return Empty(completesImmediately: false) }
      return LazyPublisher(deriving: "sentences of \(id)", clock: clock) { (run) throws(Never) in
        let sentences = reader.forwardBytes { run.send(.bytes($0)) }
        let lease = reader.device.readings.subscribe(as: run.holders, receiveValue: { run.send(.epoch($0)) })
        return Subscription {
          lease.cancel()
          sentences.cancel()
        }
      }
    }
  }

  /// The epochs of one receiver, whether the fusion uses it or not; no values for an unknown ID. A subscription wakes
  /// it.
  public func epochs(of id: String) -> Deferred<GNSSObservation, Never> {
    registry.switchToLatest(by: { $0.receiver(id).map { ObjectIdentifier($0.reader) } }) { devices in
      guard let reader = devices.receiver(id)?.reader else { return Empty(completesImmediately: false) }
      return reader.device.readings
    }
  }

  // MARK: Devices

  /// The measurements of a magnetometer while other clients keep it awake, in the chip's axes; no values for an unknown
  /// ID. Wakes nothing.
  public func observedFields(of id: String) -> Deferred<MagnetometerSample, Never> {
    registry.switchToLatest(by: { $0.magnetometer(id).map(ObjectIdentifier.init) }) { devices in
      guard let reader = devices.magnetometer(id) else { return Empty(completesImmediately: false) }
      return reader.readings.observed
    }
  }

  /// Keeps a device awake without sending values. Does nothing for an unknown device.
  public func powerLease(of id: String) -> Deferred<Void, Never> {
    registry.switchToLatest(by: { $0.reader(id).map { ObjectIdentifier($0) } }) { devices in
      guard let reader = devices.reader(id) else { return Empty(completesImmediately: false) }
      return reader.powerLease
    }
  }

  /// Keeps a running device on without sending values, as its idle timeout does; `nil` for an unknown device.
  public func keepRunning(_ id: String, as holder: Holder) -> Subscription? {
    registry.value.reader(id)?.keepRunning(as: holder)
  }
}

/// The source of a board's attitude for clients.
private enum AttitudeSource {
  case none
  case inertial
  case withCompass

  init(_ devices: DeviceRegistry) {
    if devices.imu == nil {
      self = .none
    } else {
      self = devices.board.fusedKinds.contains(.magnetometer) ? .withCompass : .inertial
    }
  }
}
