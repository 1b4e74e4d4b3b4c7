import Devices
import Guarding
import Publishing

/// Measures the power of some devices with a supply monitor while one of them is in use. At other times the monitor
/// sleeps.
///
/// Several devices may share the measured line. Its current is divided among them in proportion to the currents that
/// the board file states.
final class EnergyMeter: Sendable {
  private struct State {
    /// The lease of the monitor while a client needs one of the devices.
    var lease: Lifetime?
    var hasBegun = false
    var isOver = false
    /// Whether the last clear current flowed away from the load; `nil` before the first one.
    var isReversed: Bool?
  }

  /// A current above this, in amperes, is large enough to show its direction despite the noise.
  private static let leastDirectedAmperes = 0.01

  private let devices: [DeviceMonitor]
  private let reader: SupplyMonitorReader
  private let description: SupplyMonitorDescription
  private let state = Guarded(State())
  private let lifetime = Lifetime()

  init(of devices: [DeviceMonitor], _ description: SupplyMonitorDescription, _ reader: SupplyMonitorReader) {
    self.devices = devices
    self.description = description
    self.reader = reader
  }

  /// Begins to measure. Later calls do nothing, because several boards in a row may use the same meter.
  func begin() {
    let isFirst = state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst else { return }
    for device in devices {
      device.changes.subscribe(as: "energy", receiveValue: { [weak self] _ in self?.follow() }).store(in: lifetime)
    }
    // If power is no longer measured, the board file's values apply.
    reader.monitor.changes.subscribe(
      as: "energy", receiveValue: { [devices] status in if status.power != .tracking { EnergyMeter.forget(devices) } }
    ).store(in: lifetime)
  }

  deinit { end() }

  /// Whether the meter measures these devices in this way.
  func measures(
    _ devices: [DeviceMonitor], _ description: SupplyMonitorDescription, _ reader: SupplyMonitorReader
  ) -> Bool {
    self.reader === reader && self.description == description
      && self.devices.elementsEqual(devices, by: { $0 === $1 })
  }

  func end() {
    lifetime.end()
    state.withLock { state in
      state.isOver = true
      EnergyMeter.end(&state, devices)
    }
  }

  /// Updates the lease; any device's thread may call it. It works under the lock, so that the last call sees the
  /// present state. This is safe because subscribing and leaving call nothing that takes this lock.
  private func follow() {
    state.withLock { state in
      let isWanted = !state.isOver && devices.contains(where: \.isWorking)
      if isWanted == (state.lease != nil) { return }
      guard isWanted else { return EnergyMeter.end(&state, devices) }
      let started = Lifetime()
      reader.readings.subscribe(
        as: Holder("energy of \(devices.map(\.id).joined(separator: " and "))", purpose: .internal),
        receiveValue: { [weak self] in self?.receive($0) }
      ).store(in: started)
      state.lease = started
    }
  }

  private func receive(_ sample: SupplySample) {
    let amperes = description.amperes(sample)
    noteDirection(amperes)
    // A negative power is noise or a reverse current.
    let measured = max(0, 1000 * sample.volts * amperes)
    state.withLock { state in
      // Without a lease, the last client has left while this measurement was under way.
      guard state.lease != nil else { return }
      let stated = devices.reduce(0) { $0 + $1.statedMilliwatts }
      let working = devices.count(where: \.isWorking)
      for device in devices {
        // A device that has just started cannot get more than the total.
        let share = stated > 0 ? min(1, device.statedMilliwatts / stated) : device.isWorking ? 1 / Double(working) : 0
        device.measured(milliwatts: measured * share)
      }
    }
  }

  /// Warns of a reverse current, and ends the warning when the current clearly flows to the load again.
  private func noteDirection(_ amperes: Double) {
    guard abs(amperes) > EnergyMeter.leastDirectedAmperes else { return }
    let isReversed = amperes < 0
    let isNews = state.withLock { state -> Bool in
      defer { state.isReversed = isReversed }
      return state.isReversed != isReversed
    }
    guard isNews else { return }
    reader.monitor.setWarning(
      about: .finding,
      isReversed ? "the current flows away from the load: check whether the shunt is reversed" : nil)
  }

  private static func end(_ state: inout State, _ devices: [DeviceMonitor]) {
    state.lease?.end()
    state.lease = nil
    forget(devices)
  }

  private static func forget(_ devices: [DeviceMonitor]) {
    for device in devices { device.measured(milliwatts: nil) }
  }
}
