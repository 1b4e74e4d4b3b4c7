import Devices
import Fusion
import MonotonicTime
import Publishing

/// Adds the measurements of a board's devices to the fusion log while the devices are awake, and starts a fusion run
/// when a client wants states. It wakes nothing.
struct Aggregator: Sendable {
  private let devices: [BoardDevice]
  private let receivers: ReceiverSelection
  private let log: FusionLog

  /// - Parameters:
  ///   - devices: all devices of the board, in the order of its list
  ///   - receivers: selects the receiver whose epochs are used
  init(_ devices: [BoardDevice], _ receivers: ReceiverSelection, into log: FusionLog) {
    self.devices = devices
    self.receivers = receivers
    self.log = log
  }

  /// The fused state as a lazy publisher. The devices' measurements are added for the publisher's lifetime.
  func states(clock: any MonotonicTimeSource) -> LazyPublisher<FusedState, Never> {
    let listening = listen()
    return LazyPublisher(deriving: "state", clock: clock) { (run) throws(Never) in
      _ = listening
      log.attach(run)
      log.begin()
      // A run begins with the latest epoch of each receiver that is awake.
      for (place, device) in heard {
        if case .receiver(_, let reader) = device, let latest = reader.device.readings.latest {
          take(latest, of: place, reader.receiverHealth)
        }
      }
      return Subscription {
        log.detach()
        log.end()
      }
    }
  }

  /// The devices whose measurements are added, with their places in the board's list: all devices except receivers that
  /// are not fused.
  private var heard: [(place: Int, device: BoardDevice)] {
    devices.enumerated().compactMap { place, device in
      if case .receiver = device, !receivers.candidates.contains(where: { $0.rank == place }) { return nil }
      return (place, device)
    }
  }

  private func listen() -> Lifetime {
    let lifetime = Lifetime()
    for (place, device) in heard { listen(to: device, place).store(in: lifetime) }
    return lifetime
  }

  private func listen(to device: BoardDevice, _ place: Int) -> Subscription {
    switch device {
    case .receiver(_, let reader):
      return reader.device.readings.observed.subscribe(
        as: "state", receiveValue: { take($0, of: place, reader.receiverHealth) })
    case .imu(_, let reader):
      return reader.readings.observed.subscribe(
        as: "state", receiveValue: { [log] in log.append(.imu(place, $0), readAt: $0.readAt) })
    case .magnetometer(_, let reader):
      return reader.readings.observed.subscribe(
        as: "state", receiveValue: { [log] in log.append(.field(place, $0), readAt: $0.at) })
    case .barometer(_, let reader):
      return reader.readings.observed.subscribe(
        as: "state", receiveValue: { [log] in log.append(.air(place, $0), readAt: $0.at) })
    case .supplyMonitor(_, let reader):
      return reader.readings.observed.subscribe(
        as: "state", receiveValue: { [log] in log.append(.supply(place, $0), readAt: $0.at) })
    }
  }

  private func take(_ observation: GNSSObservation, of place: Int, _ receiverHealth: ReceiverHealth) {
    // Outside a run nothing is fused, so the selected receiver stays the same.
    let isTaken = log.isUnderWay ? receivers.take(observation, of: place) : receivers.taken?.rank == place
    guard isTaken else { return }
    let epoch = observation.epoch
    let isRepetition = log.append(.epoch(place, epoch), readAt: observation.receivedAt)
    if let isRepetition, epoch.position != nil { receiverHealth.note(isRepetition, at: observation.at) }
  }
}
