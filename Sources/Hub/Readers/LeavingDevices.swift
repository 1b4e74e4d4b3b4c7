import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The devices of earlier boards that were told to stop and have not stopped yet.
///
/// A new device that uses the same hardware waits for them; other devices do not.
final class LeavingDevices: Sendable {
  private struct Entry {
    let description: DeviceDescription
    let device: any Device
    /// The new devices that wait for this one.
    var heirs: [DeviceMonitor] = []
    var watch: Subscription?
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    var lastNumber = 0
  }

  private let state = Guarded(State())

  var devices: [any Device] {
    state.withLock { state in state.entries.sorted { $0.key < $1.key }.map(\.value.device) }
  }

  /// Registers a device before it is told to stop.
  ///
  /// - Returns: its number for `watch`
  func add(_ entry: BoardDevice) -> Int {
    state.withLock { state in
      state.lastNumber += 1
      state.entries[state.lastNumber] = Entry(description: entry.description, device: entry.reader)
      return state.lastNumber
    }
  }

  /// Makes a new device wait for all leaving devices that use the same hardware.
  func holdBack(_ entry: BoardDevice) {
    let monitor = entry.reader.monitor
    state.withLock { state in
      for (number, leaving) in state.entries where leaving.description.sharesHardware(with: entry.description) {
        monitor.startGate.close()
        state.entries[number]?.heirs.append(monitor)
      }
    }
  }

  /// Waits for the end of a device that was told to stop.
  ///
  /// - Parameter machine: keeps the totals of the device
  func watch(_ number: Int, on machine: Machine) {
    guard let device = state.withLock({ $0.entries[number]?.device }) else { return }
    let watch = device.whenOff { [weak machine] in if let machine { machine.leaving.hasLeft(number, machine) } }
    let isTooLate = state.withLock { state in
      guard state.entries[number] != nil else { return true }
      state.entries[number]?.watch = watch
      return false
    }
    if isTooLate { watch.cancel() }
  }

  private func hasLeft(_ number: Int, _ machine: Machine) {
    guard let entry = state.withLock({ $0.entries.removeValue(forKey: number) }) else { return }
    entry.watch?.cancel()
    let monitor = entry.device.monitor
    let totals = monitor.close()
    machine.note(totals, of: monitor.id)
    for heir in entry.heirs {
      // The new device has not been on yet, so it continues all totals of this one.
      if heir.id == monitor.id { heir.open(with: totals) }
      heir.startGate.open()
    }
  }
}

extension LeavingDevices {
  /// Returns once the devices have stopped.
  ///
  /// - Parameter limit: the longest wait; `nil` for no limit
  /// - Returns: the IDs of the devices that have not stopped; their supplies are cut
  func areOff(within limit: Duration?, on machine: Machine) async -> [String] {
    await LeavingDevices.areOff(devices, within: limit, on: machine)
  }

  /// Returns once devices that were told to stop have stopped.
  ///
  /// - Parameter rails: rails without a device; the wait includes the threads that drive their lines
  static func areOff(
    _ ending: [any Device], and rails: [PowerRail] = [], within limit: Duration?, on machine: Machine
  ) async -> [String] {
    let clock = machine.supervisor.clock
    let deadline = limit.map { clock.now + $0 }
    // The last half second is for cutting supplies. The filter removes devices that have ended, but whose task was
    // still waiting for a thread at the deadline.
    let late = await unended(ending, until: deadline.map { $0 + .milliseconds(-500) }, clock) { await $0.isOff() }
      .filter { !$0.isEnded }
    for reader in late { reader.cutSupply() }
    let hanging = await unended(late.map(\.rail) + rails, until: deadline, clock) { await $0.isSettled() }
    let lines = rails.filter { rail in hanging.contains { $0 === rail } }.map(\.name)
    return (late.map(\.monitor.id) + lines).reduce(into: []) { names, name in
      if !names.contains(name) { names.append(name) }
    }
  }

  /// Waits for the end of all items at the same time.
  ///
  /// - Returns: the items that did not end in time
  private static func unended<Item: Sendable>(
    _ items: [Item], until deadline: MonotonicInstant?, _ clock: any MonotonicTimeSource,
    _ end: @escaping @Sendable (Item) async -> Void
  ) async -> [Item] {
    await withTaskGroup(of: Int?.self) { group in
      var unended = Set(items.indices)
      for (index, item) in items.enumerated() {
        group.addTask {
          await end(item)
          return Task.isCancelled ? nil : index
        }
      }
      if let deadline {
        group.addTask {
          try? await clock.sleep(until: deadline, tolerance: nil)
          return nil
        }
      }
      while !unended.isEmpty, let ended = await group.next(), let index = ended { unended.remove(index) }
      group.cancelAll()
      return unended.sorted().map { items[$0] }
    }
  }
}

extension DeviceDescription {
  /// Whether two devices must not be on at the same time, because they share the name, the connection, the switched
  /// supply, or a data-ready line.
  func sharesHardware(with other: DeviceDescription) -> Bool {
    if id == other.id { return true }
    if let place, let otherPlace = other.place {
      if place == otherPlace { return true }
    } else if path == other.path {
      return true
    }
    return !lines.filter(other.lines.contains).isEmpty
  }

  /// The GPIO lines of the device's switch and of its data-ready signal.
  private var lines: [GPIOLineName] {
    var lines: [GPIOLineName] = []
    if case .gpio(let line, _) = power.switch { lines.append(line) }
    if case .imu(let imu) = self, let line = imu.dataReady { lines.append(line) }
    return lines
  }
}
