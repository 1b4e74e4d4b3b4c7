import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording

/// When somebody began to have the state fused, and when nobody had any more: a replay begins its estimate anew there.
struct RecordedFusion {
  private let channel: RecordedJSON
  private let clock: any MonotonicTimeSource

  init(in inbox: RecordInbox, clock: any MonotonicTimeSource) {
    channel = RecordedJSON("/fusion", .fusion, in: inbox)
    self.clock = clock
  }

  func follow(_ hub: Hub) -> Subscription {
    let isFirst = Guarded(true)
    return hub.fusionRun.subscribe(
      as: "recorder",
      receiveValue: { [self] run in
        let isChange = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return !isFirst
        }
        if isChange {
          append(run, at: run.since)
        } else if run.isUnderWay {
          // What was fused before is not recorded: the replay can only begin here.
          append(run, at: clock.now)
        }
      })
  }

  private func append(_ run: FusionRun, at instant: MonotonicInstant) {
    // Devices that are woken for it, or are awake, say enough to write.
    channel.append(at: run.since, receivedAt: instant, isWritten: false) { json in
      json.beginObject()
      json.member("underWay", run.isUnderWay)
      json.member("epochs", true)
      json.monotonic(run.since)
      json.endObject()
    }
  }
}
