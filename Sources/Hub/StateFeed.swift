import Fusion
import Guarding
import MonotonicTime
import Publishing

/// The state that is fused from the devices in service, and the leases that keep these devices awake.
final class StateFeed: Sendable {
  /// Publishers that are shared by all subscribers with the same key.
  private typealias Shared<Key: Hashable & Sendable, Output: Sendable> = Guarded<[Key: LazyPublisher<Output, Never>]>

  /// Orders the inputs of the fusion, and fuses them.
  let log: FusionLog
  /// The state at the rate at which it changes. A subscription powers nothing.
  let fused: LazyPublisher<FusedState, Never>
  private let devices: Property<DeviceRegistry>
  /// Adds the devices' measurements to the log; `nil` if the log gets them from a recording.
  private let aggregator: Aggregator?
  private let clock: any MonotonicTimeSource
  /// The publishers that keep the devices for some parts awake. They send nothing.
  private let leases = Shared<Set<StatePart>, Void>([:])
  /// The fused state at each requested interval.
  private let paced = Shared<Duration, FusedState>([:])

  init(of devices: Property<DeviceRegistry>, on machine: Machine) {
    self.devices = devices
    let clock = machine.clock
    self.clock = clock
    let log = FusionLog(devices.value.board, monitors: devices.value.monitors, clock: clock)
    self.log = log
    let aggregator = machine.source.isPlayingInputs ? nil : Aggregator(into: log)
    self.aggregator = aggregator
    machine.source.use(log)
    aggregator?.listen(to: devices.value)
    fused = LazyPublisher(deriving: "state", clock: clock) { (run) throws(Never) in
      log.attach(run)
      guard let aggregator else { return Subscription { log.detach() } }
      log.begin()
      aggregator.takeLatest()
      return Subscription {
        log.detach()
        log.end()
      }
    }
  }

  // MARK: The board

  /// Exchanges the board. Until `change` has returned, no measurement is fused, so that observers of the log's inputs
  /// can prepare for the new board.
  func change(from old: DeviceRegistry, to new: DeviceRegistry, _ change: () -> Void) {
    aggregator?.stop()
    log.suspend(
      for: new.board, monitors: new.monitors, continues: new.continuesFusion(of: old),
      isSameSource: new.hasSameSource(as: old))
    change()
    let hasBegun = log.resume()
    guard let aggregator else { return }
    aggregator.listen(to: new)
    if hasBegun { aggregator.takeLatest() }
  }

  /// Ends all publishers, even if they have subscribers.
  func end() {
    fused.shutDown()
    for lease in leases.withLock({ Array($0.values) }) { lease.shutDown() }
  }

  // MARK: States

  /// The fused state, with a lease on the devices that measure the given parts of it.
  ///
  /// - Parameter rateHz: the highest rate; `nil` for the rate at which the state changes
  func states(rateHz: Double?, parts: Set<StatePart>) -> Deferred<FusedState, Never> {
    guard let rateHz else { return waking(parts, fused) }
    return waking(parts, states(rateHz: rateHz))
  }

  /// The fused state at the rate in the board file, with a lease on the devices that measure the given parts of it.
  func statesAtRateOfBoard(parts: Set<StatePart>) -> Deferred<FusedState, Never> {
    waking(parts, devices.switchToLatest(by: \.board.stateRateHz) { [self] in states(rateHz: $0.board.stateRateHz) })
  }

  private func states(rateHz: Double) -> Deferred<FusedState, Never> {
    let interval = Duration.nanoseconds(Int64(1e9 / rateHz))
    let throttled = fused.throttled(to: interval, clock: clock)
    // A subscriber with a low rate gets its first state at once, and does not wait for the instant of other
    // subscribers.
    if interval > .seconds(1) { return throttled }
    return Deferred { [self] _ in
      shared(paced, interval) { throttled.shared(as: "state every \(interval)", clock: clock) }
    }
  }

  private func waking(
    _ parts: Set<StatePart>, _ states: some Publisher<FusedState, Never>
  ) -> Deferred<FusedState, Never> {
    states.withLease(on: lease(on: parts), as: { $0.wanting(parts) })
  }

  /// Keeps the devices that measure some parts of the state awake. After a change of board, the lease keeps the devices
  /// of the new board awake.
  func lease(on parts: Set<StatePart>) -> LazyPublisher<Void, Never> {
    shared(leases, parts) { [devices, clock] in
      LazyPublisher(deriving: "state of \(parts.names)", clock: clock) { (run) throws(Never) in
        let holders = run.holders
        return devices.holdLatest(by: { $0.identities(for: parts) }, as: holders) {
          $0.lease(on: parts, as: holders, clock: clock)
        }
      }
    }
  }

  /// The publisher with this key, which all subscribers share. Clients choose the keys, so publishers that have had no
  /// subscribers for ten seconds are removed.
  private func shared<Key: Hashable & Sendable, Output: Sendable>(
    _ all: borrowing Shared<Key, Output>, _ key: Key, _ make: () -> LazyPublisher<Output, Never>
  ) -> LazyPublisher<Output, Never> {
    all.withLock { all in
      if let publisher = all[key] { return publisher }
      all = all.filter { publisher in
        let activity = publisher.value.activity.value
        return activity.phase != .idle || clock.now - activity.since < .seconds(10)
      }
      let publisher = make()
      all[key] = publisher
      return publisher
    }
  }
}

extension Holder {
  /// The holder as it appears while it holds devices for some parts of the state: `watch (attitude)`.
  public func wanting(_ parts: Set<StatePart>) -> Holder {
    parts == .all ? self : labelled("\(label) (\(parts.names))")
  }
}
