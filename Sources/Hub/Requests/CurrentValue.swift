import Fusion
import MonotonicTime
import Publishing

/// A request for one state whose parts are not too old and whose position is accurate enough. A request that names its
/// parts waits until their values are known; one for the whole state takes what the devices know.
public struct CurrentValue: Equatable, Sendable {
  public var parts: Set<StatePart>
  public var maxAge: Duration
  /// The radius that must contain the true position with a probability of 95 %, metres; `nil` if any position is
  /// enough.
  public var accuracyMetres: Double?
  /// The time limit of the request, during which devices may be awake. At the limit, the known state is sent.
  public var within: Duration

  public init(
    parts: Set<StatePart> = .all, maxAge: Duration, accuracyMetres: Double? = nil,
    within: Duration = Schedule.usualWithin
  ) {
    self.parts = parts
    self.maxAge = maxAge
    self.accuracyMetres = accuracyMetres
    self.within = within
  }

  /// Whether a state is good enough.
  ///
  /// - Parameters:
  ///   - began: values measured after this are new, however late they arrive; `nil` for a state from before the request
  ///   - kinds: the kinds of devices that the board fuses; the request does not wait for a part that none of them
  ///     measures
  func isMet(
    by state: FusedState, at now: MonotonicInstant, since began: MonotonicInstant?, of kinds: Set<DeviceStatus.Kind>
  ) -> Bool {
    // A request for the whole state would often wait until its limit, for example for the heading of a board at rest.
    let waitsForValues = parts != .all
    let isFresh = parts.allSatisfy { part in
      guard part.isMeasured(by: kinds) else { return true }
      guard let measured = state.instant(of: part), !waitsForValues || state.knows(part) else { return false }
      return now - measured <= maxAge || began.map { measured >= $0 } ?? false
    }
    guard isFresh, let accuracyMetres, parts.contains(.position), kinds.contains(.receiver) else { return isFresh }
    return state.radiusMetres.map { $0 <= accuracyMetres } ?? false
  }
}

extension StatePart {
  /// The devices that a part's value and age depend on.
  fileprivate var sources: Set<DeviceStatus.Kind> {
    switch self {
    case .position, .altitude, .motion, .time, .satellites: [.receiver]
    case .attitude, .heading, .rates, .acceleration: [.imu]
    case .magneticField: [.magnetometer]
    case .pressure: [.barometer]
    case .supply: [.supplyMonitor]
    }
  }

  /// Whether devices of these kinds can measure the part.
  fileprivate func isMeasured(by kinds: Set<DeviceStatus.Kind>) -> Bool {
    // Inertial sensors alone do not find north.
    if self == .heading, kinds.isDisjoint(with: [.receiver, .magnetometer]) { return false }
    return !sources.isDisjoint(with: kinds)
  }
}

extension FusedState {
  /// When a part was measured; `nil` if it is unknown.
  func instant(of part: StatePart) -> MonotonicInstant? {
    switch part {
    case .position, .altitude: position?.at
    case .motion: motion?.at
    case .time, .satellites: fix?.at
    case .attitude, .heading: attitude?.at
    case .rates: rates?.at
    case .acceleration: acceleration?.at
    case .magneticField: magneticField?.at
    case .pressure: air?.at
    case .supply: supply?.at
    }
  }
}

extension FusedState {
  /// Whether the value of a part is known. The device that measures a part may know others before it.
  fileprivate func knows(_ part: StatePart) -> Bool {
    switch part {
    case .heading: attitude?.value.headingSigmaRadians != nil
    case .altitude: position?.value.altitudeHAEMetres != nil || position?.value.altitudeMSLMetres != nil
    case .time: fix?.value.utcNanoseconds != nil
    default: true
    }
  }

  /// The state, completed with the parts of an earlier state that this one lacks. Each part keeps its age and its
  /// sources, also if the board file lists the devices in another order now.
  func remembering(_ earlier: FusedState?) -> FusedState {
    guard let earlier else { return self }
    func named<Value>(_ part: Dated<Value>?) -> Dated<Value>? { part?.named(in: devices, from: earlier.devices) }
    var state = self
    state.position = position ?? named(earlier.position)
    state.motion = motion ?? named(earlier.motion)
    state.attitude = attitude ?? named(earlier.attitude)
    state.rates = rates ?? named(earlier.rates)
    state.acceleration = acceleration ?? named(earlier.acceleration)
    state.magneticField = magneticField ?? named(earlier.magneticField)
    state.air = air ?? named(earlier.air)
    state.supply = supply ?? named(earlier.supply)
    state.fix = fix ?? named(earlier.fix)
    return state
  }
}

extension Hub {
  /// The last known value of each part, however old.
  private func rememberedState(at now: MonotonicInstant) -> FusedState {
    knownState(at: now).remembering(states.log.remembered)
  }

  /// Whether the known state meets a request, so that the request wakes no device.
  public func knows(_ request: CurrentValue) -> Bool {
    let now = machine.clock.now
    return request.isMet(by: rememberedState(at: now), at: now, since: nil, of: board.fusedKinds)
  }

  /// A publisher of one state. It wakes devices only if the known state does not meet the request. When the time of the
  /// request is over, it sends the known state, in which each part has its own age.
  public func current(_ request: CurrentValue) -> Deferred<FusedState, Never> {
    Deferred { [self] holders in
      let clock = machine.clock
      let began = clock.now
      let kinds = board.fusedKinds
      let known = rememberedState(at: began)
      if request.isMet(by: known, at: began, since: nil, of: kinds) { return Just(known) }
      let states = state(parts: request.parts)
      return LazyPublisher(deriving: holders.label, clock: clock) { (run) throws(Never) in
        let alarm = Alarm(clock: clock)
        alarm.set(at: began + request.within) { [weak self] in
          if let state = self?.rememberedState(at: clock.now) { run.send(state) }
          run.finish(.finished)
        }
        let lease = run.subscribe(
          to: states.first { request.isMet(by: $0, at: clock.now, since: began, of: kinds) },
          receiveValue: { state in
            alarm.end()
            run.send(state)
            run.finish(.finished)
          }, receiveCompletion: { run.finish($0) })
        return Subscription {
          alarm.end()
          lease.cancel()
        }
      }
    }
  }
}
