import Devices
import Guarding
import Publishing

/// Has a supply monitor measure what some devices draw, for their books, while one of them is wanted; else the monitor sleeps.
///
/// Several devices may hang on the wire that it sits in: what flows there is shared out among them in proportion to the
/// currents that the board file states.
final class EnergyMeter: Sendable {
  private let devices: [DeviceMonitor]
  private let reader: SupplyMonitorReader
  private let description: SupplyMonitorDescription
  /// While one of the devices is wanted.
  private let lease = Guarded<Lifetime?>(nil)
  private let lifetime = Lifetime()

  init(of devices: [DeviceMonitor], _ description: SupplyMonitorDescription, _ reader: SupplyMonitorReader) {
    self.devices = devices
    self.description = description
    self.reader = reader
    for device in devices {
      device.changes.subscribe(as: "energy", receiveValue: { [weak self] _ in self?.follow() }).store(in: lifetime)
    }
    // What it does not measure any more is as the board file states it.
    reader.monitor.changes.subscribe(
      as: "energy", receiveValue: { status in if status.power != .tracking { EnergyMeter.forget(devices) } }
    ).store(in: lifetime)
  }

  deinit { end() }

  func end() {
    lifetime.end()
    lease.withLock { lease in
      lease?.end()
      lease = nil
    }
    EnergyMeter.forget(devices)
  }

  /// Called by any of the devices' threads. Under the lock, so that the last to come sees what is: nothing that subscribing
  /// or leaving calls comes back here.
  private func follow() {
    let isOver = lease.withLock { lease in
      let isWanted = devices.contains(where: \.isWorking)
      if isWanted == (lease != nil) { return false }
      guard isWanted else {
        lease?.end()
        lease = nil
        return true
      }
      let started = Lifetime()
      subscribe().store(in: started)
      lease = started
      return false
    }
    if isOver { EnergyMeter.forget(devices) }
  }

  private func subscribe() -> Subscription {
    let (devices, description) = (devices, description)
    return reader.readings.subscribe(
      as: "energy of \(devices.map(\.id).joined(separator: " and "))",
      receiveValue: { sample in
        let stated = devices.reduce(0) { $0 + $1.statedMilliwatts }
        guard stated > 0 else { return }
        // Less than nothing is the noise about it, or a shunt the other way round.
        let measured = max(0, 1000 * sample.volts * description.amperes(sample))
        for device in devices { device.measured(milliwatts: measured * device.statedMilliwatts / stated) }
      })
  }

  private static func forget(_ devices: [DeviceMonitor]) {
    for device in devices { device.measured(milliwatts: nil) }
  }
}
