import Devices
import Fusion
import Guarding
import MonotonicTime
import Publishing

/// Stands in for a board's devices. The player of a recording puts the devices' recorded messages here.
///
/// All messages come from one thread, in the order of their times, with the machine's clock set to each of them.
public final class ReplayFeed: Sendable {
  private struct Ports {
    var receivers: [String: ReplayPort<ReceivedBytes>] = [:]
    var imus: [String: ReplayPort<IMUBatch>] = [:]
    var magnetometers: [String: ReplayPort<MagnetometerSample>] = [:]
    var barometers: [String: ReplayPort<BarometerSample>] = [:]
    var supplyMonitors: [String: ReplayPort<SupplySample>] = [:]
  }

  /// Whether the replay gives the fusion its recorded inputs. Otherwise the fusion gets the devices' replayed output,
  /// as it gets the output of real devices.
  private let hasInputs: Bool
  private let ports = Guarded(Ports())
  private let present = Guarded<FusionLog?>(nil)

  public init(hasInputs: Bool = false) { self.hasInputs = hasInputs }

  /// The fusion log of the hub that receives the replay; `nil` before its board is set up.
  public var log: FusionLog? { present.withLock { $0 } }

  /// Begins to play the recording of another hub. The fusion starts without the data of the previous recording.
  public func begin() { log?.forget() }

  // The ports, by device ID. The player and the device's reader share a port.

  public func receiver(_ id: String) -> ReplayPort<ReceivedBytes> { port(id, \.receivers) }
  public func imu(_ id: String) -> ReplayPort<IMUBatch> { port(id, \.imus) }
  public func magnetometer(_ id: String) -> ReplayPort<MagnetometerSample> { port(id, \.magnetometers) }
  public func barometer(_ id: String) -> ReplayPort<BarometerSample> { port(id, \.barometers) }
  public func supplyMonitor(_ id: String) -> ReplayPort<SupplySample> { port(id, \.supplyMonitors) }

  /// Sets whether a device's supply was on after the time that the replay has reached.
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

extension ReplayFeed: DeviceSource {
  func device(_ description: DeviceDescription, on machine: Machine) -> BoardDevice {
    let id = description.id
    switch description {
    case .receiver(let receiver):
      return .receiver(receiver, ReceiverReader(replaying: receiver, self.receiver(id), on: machine))
    case .imu(let imu):
      return .imu(
        imu, IMUReader(replaying: description, .imu, from: self.imu(id), on: machine, counting: { $0.count }))
    case .magnetometer(let magnetometer):
      return .magnetometer(
        magnetometer,
        MagnetometerReader(replaying: description, .magnetometer, from: self.magnetometer(id), on: machine))
    case .barometer(let barometer):
      return .barometer(
        barometer, BarometerReader(replaying: description, .barometer, from: self.barometer(id), on: machine))
    case .supplyMonitor(let monitor):
      return .supplyMonitor(
        monitor, SupplyMonitorReader(replaying: description, .supplyMonitor, from: supplyMonitor(id), on: machine))
    }
  }

  func origin(of description: DeviceDescription, on machine: Machine) -> DeviceStatus.Origin { .recorded }

  var isPlayingInputs: Bool { hasInputs }

  func use(_ log: FusionLog) { present.withLock { $0 = log } }
}

extension Machine {
  /// A machine whose devices repeat their recorded output. Nothing is powered.
  ///
  /// - Parameters:
  ///   - clock: shows the recorded time, like `systemTime`
  public convenience init(
    replaying feed: ReplayFeed, clock: any MonotonicTimeSource, systemTime: @escaping @Sendable () -> Int64
  ) {
    self.init(hardware: NoHardware(), source: feed, clock: clock, systemTime: systemTime)
  }
}
