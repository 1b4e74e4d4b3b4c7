import Devices
import Fusion
import Guarding
import MonotonicTime
import Publishing

/// Adds the measurements of the devices in service to the fusion log while the devices are awake. It wakes nothing.
final class Aggregator: Sendable {
  private struct Listening {
    let devices: HeardDevices
    let lifetime: Lifetime
  }

  private let log: FusionLog
  private let present = Guarded<Listening?>(nil)

  init(into log: FusionLog) { self.log = log }

  /// Adds the measurements of these devices from now on.
  func listen(to devices: DeviceRegistry) {
    let heard = HeardDevices(devices, into: log)
    let listening = Listening(devices: heard, lifetime: heard.listen())
    present.withLock { $0 = listening }
  }

  func stop() {
    let listening = present.withLock { present in
      defer { present = nil }
      return present
    }
    listening?.lifetime.end()
  }

  /// Adds the latest epoch of each awake receiver, at the beginning of a run.
  func takeLatest() { present.withLock { $0 }?.devices.takeLatest() }
}

/// Passes the measurements of one board's devices to the fusion log.
private struct HeardDevices: Sendable {
  /// The devices, with their places in the board's list: all devices except receivers that are not fused.
  private let places: [(place: Int, device: BoardDevice)]
  private let receivers: ReceiverSelection
  private let log: FusionLog
  /// The number of the devices' board. The log ignores inputs with the number of an earlier board.
  private let board: Int

  init(_ devices: DeviceRegistry, into log: FusionLog) {
    let receivers = devices.receivers
    places = devices.entries.enumerated().compactMap { place, device in
      if case .receiver = device, !receivers.candidates.contains(where: { $0.rank == place }) { return nil }
      return (place, device)
    }
    self.receivers = receivers
    self.log = log
    board = log.boardNumber
  }

  func takeLatest() {
    for (place, device) in places {
      if case .receiver(_, let reader) = device, let latest = reader.device.readings.latest {
        take(latest, of: place, reader.receiverHealth)
      }
    }
  }

  func listen() -> Lifetime {
    let lifetime = Lifetime()
    for (place, device) in places {
      listen(to: device, place).store(in: lifetime)
      device.reader.monitor.changes.subscribe(
        as: "state", receiveValue: { if $0.power == .failed { log.deviceFailed(of: board) } }
      ).store(in: lifetime)
    }
    return lifetime
  }

  private func listen(to device: BoardDevice, _ place: Int) -> Subscription {
    switch device {
    case .receiver(_, let reader):
      return reader.device.readings.observed.subscribe(
        as: "state", receiveValue: { take($0, of: place, reader.receiverHealth) })
    case .imu(_, let reader):
      return reader.readings.observed.subscribe(as: "state", receiveValue: { append(.imu(place, $0), $0.readAt) })
    case .magnetometer(_, let reader):
      return reader.readings.observed.subscribe(as: "state", receiveValue: { append(.field(place, $0), $0.at) })
    case .barometer(_, let reader):
      return reader.readings.observed.subscribe(as: "state", receiveValue: { append(.air(place, $0), $0.at) })
    case .supplyMonitor(_, let reader):
      return reader.readings.observed.subscribe(as: "state", receiveValue: { append(.supply(place, $0), $0.at) })
    }
  }

  private func take(_ observation: GNSSObservation, of place: Int, _ receiverHealth: ReceiverHealth) {
    // Outside a run nothing is fused, so the selected receiver stays the same.
    let isTaken = log.isUnderWay ? receivers.take(observation, of: place) : receivers.taken?.rank == place
    guard isTaken else { return }
    let epoch = observation.epoch
    let isRepetition = append(.epoch(place, epoch), observation.receivedAt)
    if let isRepetition, epoch.position != nil { receiverHealth.note(isRepetition, at: observation.at) }
  }

  @discardableResult
  private func append(_ input: FusionInput, _ readAt: MonotonicInstant) -> Bool? {
    log.append(input, readAt: readAt, of: board)
  }
}
