import Guarding
import Hub
import MonotonicTime

/// Logs problems that last: at most one line a minute for each device that a client needs and that has failed or
/// measures nothing useful. The first line about a device that only needs more time is a notice; all others are
/// warnings.
///
/// `DeviceLog` logs at once that a device fails or works again.
final class ConditionLog: Sendable {
  static let interval = Duration.seconds(60)
  /// The time after which a device that only needs more time is logged. Most receivers have a fix by then.
  static let patience = Duration.seconds(8)

  private struct Trouble {
    var writtenAt: MonotonicInstant?
  }

  private struct Line {
    var priority: JournalSink.Priority
    var entry: ConditionFeed.Entry
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
    let due = troubles.withLock { troubles -> [Line] in
      // A problem that comes and goes is logged at most once a minute.
      troubles = troubles.filter { device, trouble in
        worst[device] != nil || trouble.writtenAt.map { now - $0 < ConditionLog.interval } ?? false
      }
      return entries.compactMap { entry in
        guard worst[entry.device] == entry else { return nil }
        var trouble = troubles[entry.device] ?? Trouble()
        defer { troubles[entry.device] = trouble }
        let isWaiting = entry.condition.severity == .waiting
        if let writtenAt = trouble.writtenAt {
          guard now - writtenAt >= ConditionLog.interval else { return nil }
          // A problem that began after the last line may be the normal start of a new wake, which is not a warning.
          if !isWaiting || entry.condition.since <= writtenAt {
            trouble.writtenAt = now
            return Line(priority: .warning, entry: entry)
          }
        }
        if entry.condition.kind == .failed {
          // `DeviceLog` has already logged the beginning of this failure, so the first line here is left out.
          trouble.writtenAt = now
          return nil
        }
        if isWaiting, now - entry.condition.since < ConditionLog.patience { return nil }
        trouble.writtenAt = now
        return Line(priority: isWaiting ? .notice : .warning, entry: entry)
      }
    }
    for line in due {
      let entry = line.entry
      let report = ConditionReport(entry.condition, at: now)
      sink.write(
        line.priority, "\(entry.device): \(report.text)",
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
