import Devices
import Fusion
import MonotonicTime
import Publishing

extension Hub {
  /// The shortest time for which a receiver's report counts as present.
  private static let shortestReceiverLifetime = Duration.seconds(5)

  /// The known state for clients that wake nothing: the last fused state, however old. While the fusion does not run,
  /// this state is from before the last sleep. If a receiver is awake for its sentences or its time, its reports
  /// replace this state.
  public func knownState(at now: MonotonicInstant) -> FusedState {
    var state = stateOfReceiver(at: now) ?? lastState.value ?? FusedState(at: now)
    // The state may be old. The age of each part shows this.
    state.at = now
    return state
  }

  /// The last known position, however old; `nil` if none is known.
  public var lastKnownPosition: FusedState.Position? {
    (lastState.value?.position ?? states.log.remembered?.position)?.value
  }

  private func stateOfReceiver(at now: MonotonicInstant) -> FusedState? {
    guard !fusionRun.value.isUnderWay, let receiver = receivers.taken, receiver.isAwake,
      let epoch = receiver.reader.device.source.latest,
      now - epoch.at <= max(Hub.shortestReceiverLifetime, receiver.description.settings.reportInterval * 1.5)
    else { return nil }
    let at = MonotonicInstant(nanoseconds: epoch.at.nanoseconds - receiver.description.fixLatency.inNanoseconds)
    let source = DeviceSet(receiver.rank)
    var state = FusedState(at: now, devices: DeviceNames(board.devices.map(\.id)))
    state.mode = epoch.position == nil ? .none : .gnss
    state.position = epoch.position.map { Dated($0, at: at, source: source) }
    state.motion = epoch.motion.map { Dated($0, at: at, source: source) }
    state.fix = Dated(epoch.quality, at: at, source: source)
    return state
  }
}
