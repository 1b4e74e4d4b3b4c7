import Devices
import Fusion
import Guarding
import MonotonicTime
import Publishing

/// Where whoever plays a recording puts what it says, in place of a board's devices.
///
/// All of it comes from one thread, in the order of its times, and with the machine's clock set to each of them.
public final class ReplayFeed: Sendable {
  private struct Ports {
    var receivers: [String: ReplayPort<ReceivedBytes>] = [:]
    var imus: [String: ReplayPort<IMUBatch>] = [:]
    var magnetometers: [String: ReplayPort<MagnetometerSample>] = [:]
    var barometers: [String: ReplayPort<BarometerSample>] = [:]
    var supplyMonitors: [String: ReplayPort<SupplySample>] = [:]
  }

  /// Whether what is played does not tell when a silence ended an epoch: a receiver's log does not, a recording does.
  let lacksSilences: Bool
  private let ports = Guarded(Ports())
  // Of the hub that is played.
  let lastTime = LastTime()
  let lastState = MutableProperty<FusedState?>(nil)

  /// Epochs to be fused now, where what is played tells.
  let epochs = Subject<ReplayedEpoch, Never>()
  private let decoded = Guarded(DecodedEpochs())

  public init(lacksSilences: Bool = false) { self.lacksSilences = lacksSilences }

  /// Whether it is told from here on which epochs are fused. Else it is each that comes.
  public var tellsEpochs: Bool {
    get { decoded.withLock { $0.areTold } }
    set { decoded.withLock { $0.areTold = newValue } }
  }

  /// Has an epoch fused, or once it has been decoded: of what came at one instant either may come first.
  public func fuse(epochAt at: MonotonicInstant, of id: String) {
    let observation = decoded.withLock { $0.take(at, of: id) }
    if let observation { epochs.send(ReplayedEpoch(id: id, observation: observation)) }
  }

  func note(decoded observation: GNSSObservation, of id: String) {
    let isAwaited = decoded.withLock { $0.note(observation, of: id) }
    if isAwaited { epochs.send(ReplayedEpoch(id: id, observation: observation)) }
  }

  /// What a hub knows from one run of the fusion to the next.
  public struct Knowledge: Sendable {
    fileprivate let state: FusedState?
    fileprivate let time: LastTime.Stated?
  }

  public var knowledge: Knowledge { Knowledge(state: lastState.value, time: lastTime.stated) }

  /// Has the hub know what it knew, and not what it has learnt since; not while somebody has the state fused.
  public func restore(_ knowledge: Knowledge) {
    guard lastState.value?.mode == .asleep else { return }
    lastTime.stated = knowledge.time
    lastState.value = knowledge.state
  }

  /// Another hub begins, which knows nothing of the one before it.
  public func begin() {
    decoded.withLock { $0 = DecodedEpochs() }
    lastTime.stated = nil
    lastState.value = nil
  }

  // By the device's ID; the same port for who puts something in and for the device's reader.

  public func receiver(_ id: String) -> ReplayPort<ReceivedBytes> { port(id, \.receivers) }
  public func imu(_ id: String) -> ReplayPort<IMUBatch> { port(id, \.imus) }
  public func magnetometer(_ id: String) -> ReplayPort<MagnetometerSample> { port(id, \.magnetometers) }
  public func barometer(_ id: String) -> ReplayPort<BarometerSample> { port(id, \.barometers) }
  public func supplyMonitor(_ id: String) -> ReplayPort<SupplySample> { port(id, \.supplyMonitors) }

  /// Says whether a device was supplied from here on.
  public func set(isSupplied: Bool, _ kind: DeviceStatus.Kind, _ id: String) {
    func set<Message>(_ port: ReplayPort<Message>) {
      if isSupplied { port.begin() } else { port.end() }
    }
    switch kind {
    case .receiver: set(receiver(id))
    case .imu: set(imu(id))
    case .magnetometer: set(magnetometer(id))
    case .barometer: set(barometer(id))
    case .supplyMonitor: set(supplyMonitor(id))
    }
  }

  private func port<Message: Sendable>(
    _ id: String, _ ports: WritableKeyPath<Ports, [String: ReplayPort<Message>]>
  ) -> ReplayPort<Message> {
    self.ports.withLock { all in
      if let port = all[keyPath: ports][id] { return port }
      let port = ReplayPort<Message>()
      all[keyPath: ports][id] = port
      return port
    }
  }
}
