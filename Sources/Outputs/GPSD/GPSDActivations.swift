import CLinux
import Guarding
import Hub
import NMEA
import Publishing

/// Since when each device of the hub in service has been active. Observes alone: it wakes nothing.
final class GPSDActivations: Sendable {
  struct Activity: Sendable {
    /// Counts the hubs that have been in service: a new one has new devices, whatever they are called.
    var hub = 0
    /// Of the active devices alone, by the device's ID.
    var since: [String: UTCTime] = [:]
  }

  private let property = MutableProperty(Activity())
  private let lifetime = Lifetime()
  /// Follows the devices of the present hub.
  private let present = Guarded<Lifetime?>(nil)
  private let activity = Guarded(Activity())

  init(_ host: HubHost) {
    host.hub.subscribe(as: "gpsd devices", receiveValue: { [weak self] in self?.follow($0) }).store(in: lifetime)
  }

  /// What is active now, and later.
  var changes: Property<Activity> { property.readOnly }

  private func follow(_ hub: Hub) {
    let lifetime = Lifetime()
    let old = present.withLock { present in
      defer { present = lifetime }
      return present
    }
    old?.end()
    change { $0 = Activity(hub: $0.hub + 1) }
    for monitor in hub.monitors {
      monitor.changes.subscribe(as: "gpsd devices", receiveValue: { [weak self] in self?.receive($0) }).store(
        in: lifetime)
    }
  }

  private func receive(_ status: DeviceStatus) {
    let isActive = status.power.isActive
    change { activity in
      if isActive == (activity.since[status.id] != nil) { return }
      activity.since[status.id] = isActive ? UTCTime(nanosecondsSince1970: clinux_realtime_ns()) : nil
    }
  }

  private func change(_ change: (inout Activity) -> Void) {
    let mustDeliver = activity.withLock { activity in
      let before = activity
      change(&activity)
      if activity.hub == before.hub, activity.since == before.since { return false }
      return property.stage(activity)
    }
    if mustDeliver { property.deliver() }
  }
}

extension DeviceStatus.Power {
  /// It is open and being read. One that cannot be opened is tried again and again, and not active in between.
  var isActive: Bool {
    switch self {
    case .acquiring, .tracking, .lingering: true
    case .off, .asleep, .awake, .settling, .failed: false
    }
  }
}
