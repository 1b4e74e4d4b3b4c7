import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording

/// Records each change of a device's power and holders.
struct RecordedPower {
  private let channel: RecordedJSON
  private let clock: any MonotonicTimeSource

  init(in inbox: RecordInbox, clock: any MonotonicTimeSource) {
    channel = RecordedJSON("/power", .power, in: inbox)
    self.clock = clock
  }

  func follow(_ hub: Hub) -> Lifetime {
    let lifetime = Lifetime()
    for monitor in hub.monitors {
      let isFirst = Guarded(true)
      monitor.changes.subscribe(
        as: "recorder",
        receiveValue: { [self] status in
          // The present state is not a change, so it does not start a file.
          let isChange = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return !isFirst
          }
          append(status, isChange: isChange)
        }
      ).store(in: lifetime)
    }
    return lifetime
  }

  private func append(_ status: DeviceStatus, isChange: Bool) {
    channel.append(at: clock.now, isWritten: isChange) { json in
      json.beginObject()
      json.member("id", status.id)
      json.member("kind", status.kind.rawValue)
      json.member("power", status.power.rawValue)
      json.member("reason", Text.printable(status.reason))
      json.key("holders")
      json.beginArray()
      for holder in status.holders { json.string(holder) }
      json.endArray()
      json.member("onSeconds", status.onTime.inSeconds, decimals: 3)
      json.member("wakes", status.wakes)
      json.member("energyMilliwattHours", status.energyMilliwattHours, decimals: 6)
      json.member("measuredMilliwattHours", status.measuredMilliwattHours, decimals: 6)
      json.endObject()
    }
  }
}
