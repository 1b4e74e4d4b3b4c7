import Devices
import Guarding
import MonotonicTime
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
    var direction = CurrentDirection()
  }

  private let devices: [DeviceMonitor]
  private let reader: SupplyMonitorReader
  private let description: SupplyMonitorDescription
  /// Whether the monitor measures the battery. While a battery is charged, its current flows away from the load.
  private let isOfBattery: Bool
  private let state = Guarded(State())
  private let lifetime = Lifetime()

  init(
    of devices: [DeviceMonitor], _ description: SupplyMonitorDescription, _ reader: SupplyMonitorReader,
    isOfBattery: Bool
  ) {
    self.devices = devices
    self.description = description
    self.reader = reader
    self.isOfBattery = isOfBattery
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

  /// Whether the meter measures these devices with this supply monitor and with these settings.
  func measures(
    _ devices: [DeviceMonitor], _ description: SupplyMonitorDescription, _ reader: SupplyMonitorReader,
    isOfBattery: Bool
  ) -> Bool {
    self.reader === reader && self.description == description && self.isOfBattery == isOfBattery
      && self.devices.elementsEqual(devices, by: { $0 === $1 })
  }

  func end() {
    lifetime.end()
    let mustDeliver = state.withLock { state in
      state.isOver = true
      EnergyMeter.end(&state, devices)
      let hasWarned = state.direction.isReversed
      state.direction = CurrentDirection()
      // A later meter of the same monitor sets its own warning. Without a later meter, nothing else would end the
      // warning of this meter.
      return hasWarned && reader.monitor.stageWarning(about: .finding, nil)
    }
    if mustDeliver { reader.monitor.deliver() }
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
    // A negative power is noise or a reverse current, and counts as 0. While a battery is charged, the devices' power is
    // unknown.
    let measured = max(0, 1000 * sample.volts * description.amperes(sample))
    let isCharging = isOfBattery && sample.flowsBack
    let mustDeliver = state.withLock { state in
      // Without a lease, the last client has left while this measurement was under way.
      guard state.lease != nil else { return false }
      let stated = devices.reduce(0) { $0 + $1.statedMilliwatts }
      let working = devices.count(where: \.isWorking)
      for device in devices {
        // A device may have started after the sum was computed. It must not get more than the total.
        let share = stated > 0 ? min(1, device.statedMilliwatts / stated) : device.isWorking ? 1 / Double(working) : 0
        device.measured(milliwatts: isCharging ? nil : measured * share)
      }
      guard !isOfBattery, let isReversed = state.direction.take(sample) else { return false }
      // The warning is staged under the lock. Otherwise `end`, which may run on another thread, could remove it before
      // this thread sets it, and it would stay.
      return reader.monitor.stageWarning(
        about: .finding,
        isReversed ? "the current flows away from the load: check whether the shunt is reversed" : nil)
    }
    if mustDeliver { reader.monitor.deliver() }
  }

  private static func end(_ state: inout State, _ devices: [DeviceMonitor]) {
    state.lease?.end()
    state.lease = nil
    state.direction.pause()
    forget(devices)
  }

  private static func forget(_ devices: [DeviceMonitor]) {
    for device in devices { device.measured(milliwatts: nil) }
  }
}

/// Decides whether the current through a shunt flows away from the load, as it does if the shunt is connected the wrong
/// way round.
///
/// A current counts only if it lasts, because capacitors and inputs of a device that is being switched feed a current
/// back for a moment.
struct CurrentDirection: Sendable {
  static let patience = Duration.seconds(2)

  /// Whether the last clear current flowed away from the load.
  private(set) var isReversed = false
  /// Since when the current has flowed away from the load.
  private var since: MonotonicInstant?

  /// Takes a sample.
  ///
  /// - Returns: whether the current flows away from the load, if that has changed
  mutating func take(_ sample: SupplySample) -> Bool? {
    let isAway = sample.flowsBack
    let began = since ?? sample.at
    since = isAway ? began : nil
    if isAway, !isReversed, sample.at - began >= CurrentDirection.patience {
      isReversed = true
      return true
    }
    if isReversed, sample.shuntVolts > SupplySample.clearShuntVolts {
      isReversed = false
      return false
    }
    return nil
  }

  /// Records that no samples follow for a while.
  mutating func pause() { since = nil }
}

extension SupplySample {
  /// The direction of a current is clear from this voltage across the shunt, which is several times the offset of an
  /// INA219 (100 µV, data sheet SBOS448, "Electrical characteristics") or an INA226 (10 µV, SBOS547).
  static let clearShuntVolts = 0.0005

  /// Whether the current clearly flows back from the load: a battery is being charged, or the shunt is connected the
  /// wrong way round.
  var flowsBack: Bool { shuntVolts < -SupplySample.clearShuntVolts }
}
