import Devices
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// When each device of the board in service became active, and the identity of each receiver. This type only observes,
/// and wakes no device.
final class GPSDActivations: Sendable {
  struct Activity: Sendable {
    /// Counts the boards that have been in service. Another board may have other devices with the same names.
    var boardNumber = 0
    /// When each active device became active, by device ID.
    var since: [String: UTCTime] = [:]
    /// The identities of receivers that have reported one, by device ID.
    var identities: [String: ReceiverIdentity] = [:]
  }

  private struct Following {
    var lifetime: Lifetime?
    var monitors: [String: DeviceMonitor] = [:]
  }

  private let property = MutableProperty(Activity())
  private let lifetime = Lifetime()
  /// The subscriptions to the devices of the present board.
  private let present = Guarded(Following())
  private let activity = Guarded(Activity())

  init(_ host: HubHost) {
    host.hub.registry.subscribe(
      as: "gpsd devices", receiveValue: { [weak self, machine = host.hub.machine] in self?.follow($0, on: machine) }
    ).store(in: lifetime)
  }

  /// The active devices, now and after each change.
  var changes: Property<Activity> { property.readOnly }

  private func follow(_ devices: DeviceRegistry, on machine: Machine) {
    let lifetime = Lifetime()
    let monitors = Dictionary(devices.monitors.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let old = present.withLock { present in
      defer { present = Following(lifetime: lifetime, monitors: monitors) }
      return present
    }
    old.lifetime?.end()
    // Devices that are the same on both boards stay open, so they keep their times.
    change { activity in
      activity.boardNumber += 1
      func goesOn(_ id: String) -> Bool { old.monitors[id].map { $0 === monitors[id] } ?? false }
      activity.since = activity.since.filter { goesOn($0.key) }
      activity.identities = activity.identities.filter { goesOn($0.key) }
    }
    for monitor in devices.monitors {
      monitor.changes.subscribe(as: "gpsd devices", receiveValue: { [weak self] in self?.receive($0, on: machine) })
        .store(in: lifetime)
    }
    for receiver in devices.receivers.candidates {
      let id = receiver.description.id
      receiver.reader.identity.subscribe(
        as: "gpsd devices", receiveValue: { [weak self] identity in self?.change { $0.identities[id] = identity } }
      ).store(in: lifetime)
    }
  }

  private func receive(_ status: DeviceStatus, on machine: Machine) {
    let isActive = status.power.isActive
    change { activity in
      if isActive == (activity.since[status.id] != nil) { return }
      // The report may arrive late, so subtract its age.
      let age = max((machine.clock.now - status.since).inNanoseconds, 0)
      activity.since[status.id] = isActive ? UTCTime(nanosecondsSince1970: machine.systemTime() - age) : nil
    }
  }

  private func change(_ change: (inout Activity) -> Void) {
    let mustDeliver = activity.withLock { activity in
      let before = activity
      change(&activity)
      if activity.boardNumber == before.boardNumber, activity.since == before.since,
        activity.identities == before.identities
      {
        return false
      }
      return property.stage(activity)
    }
    if mustDeliver { property.deliver() }
  }
}

extension DeviceStatus.Power {
  /// Whether the device is open and being read. Between attempts to open a device, it is not active.
  var isActive: Bool {
    switch self {
    case .acquiring, .tracking, .lingering: true
    case .off, .asleep, .awake, .settling, .failed: false
    }
  }
}
