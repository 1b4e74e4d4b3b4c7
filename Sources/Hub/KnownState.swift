import Devices
import Fusion
import MonotonicTime
import Publishing

extension Hub {
  /// So long what a receiver has said is of now.
  private static let receiverLifetime = Duration.seconds(5)

  /// What is known as of now, for who asks and wakes nothing: the last fused state, however old. While nobody has it fused
  /// that is as of the last sleep; what a receiver says meanwhile that is awake for its sentences or its time takes its place.
  public func knownState(at now: MonotonicInstant) -> FusedState {
    var state = stateOfReceiver(at: now) ?? lastState.value ?? FusedState(at: now)
    // Old as it may be by now: the ages say so.
    state.at = now
    return state
  }

  private func stateOfReceiver(at now: MonotonicInstant) -> FusedState? {
    guard !fusionRun.value.isUnderWay, let receiver = receivers.taken, receiver.isAwake,
      let epoch = receiver.reader.device.source.latest, now - epoch.at <= Hub.receiverLifetime
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
