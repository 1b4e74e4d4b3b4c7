import Guarding
import Hub
import MonotonicTime

/// Logs problems that last: at most one line a minute for each device that a client needs and that has failed or
/// measures nothing useful.
///
/// `DeviceLog` logs at once that a device fails or works again.
final class ConditionLog: Sendable {
  static let interval = Duration.seconds(60)

  private struct Trouble {
    var since: MonotonicInstant
    var writtenAt: MonotonicInstant?
  }

  private let sink: JournalSink
  private let clock: any MonotonicTimeSource
  private let troubles = Guarded<[String: Trouble]>([:])

  init(sink: JournalSink, clock: any MonotonicTimeSource) {
    self.sink = sink
    self.clock = clock
  }

  func receive(_ entries: [ConditionFeed.Entry]) {
    let now = clock.now
    // The worst problem of each device; it comes first in the device's list.
    var worst: [String: ConditionFeed.Entry] = [:]
    for entry in entries where entry.isWanted && entry.condition.kind.isRepeated {
      if worst[entry.device] == nil { worst[entry.device] = entry }
    }
    let due = troubles.withLock { troubles in
      // A problem that comes and goes is logged at most once a minute.
      troubles = troubles.filter { device, trouble in
        worst[device] != nil || trouble.writtenAt.map { now - $0 < ConditionLog.interval } ?? false
      }
      return entries.filter { entry in
        guard worst[entry.device] == entry else { return false }
        var trouble = troubles[entry.device] ?? Trouble(since: now)
        defer { troubles[entry.device] = trouble }
        // `DeviceLog` has already logged a failure when it began. A device that only needs more time is logged after a
        // minute.
        let isSaid = entry.condition.kind == .failed || entry.condition.severity == .waiting
        let isDue = now - (trouble.writtenAt ?? trouble.since) >= ConditionLog.interval
        guard isDue || trouble.writtenAt == nil && !isSaid else { return false }
        trouble.writtenAt = now
        return true
      }
    }
    for entry in due {
      let report = ConditionReport(entry.condition, at: now)
      sink.write(
        .warning, "\(entry.device): \(report.text)",
        fields: [
          .init("SENSORHUB_DEVICE", entry.device), .init("SENSORHUB_EVENT", report.kind),
          .init("SENSORHUB_REASON", entry.condition.text),
        ])
    }
  }
}

extension DeviceCondition.Kind {
  /// Whether the problem is logged every minute as long as it lasts. Other problems are not logged here.
  fileprivate var isRepeated: Bool { self == .failed || self == .acquiring }
}
