import Guarding
import Hub
import MonotonicTime

/// Turns the status changes of one device into log lines. It writes a repeated fault once, and then its count after
/// every `summaryEvery` repetitions. It summarises the lines of a device that switches on and off repeatedly. The first
/// line about a fault is always written.
final class DeviceLog: Sendable {
  private struct State {
    var previous: DeviceStatus?
    var fault: String?
    var repetitions = 0
    /// The number of the wake in which the device has already tracked satellites.
    var trackedWake: Int?
  }

  /// The latest status, for a summary that may be due after this log was released.
  private final class LatestStatus: Sendable {
    let value = Guarded<DeviceStatus?>(nil)
  }

  /// The number of repetitions of one fault after which a line gives their count.
  private static let summaryEvery = 60

  /// The maximum number of lines of one device within `window`, enough for two wakes; further lines are summarised.
  /// Faults and warnings are not counted.
  static let lineLimit = 12
  static let window = Duration.seconds(10)

  /// The maximum number of warnings of one device within `warningWindow`. Some warnings, such as interference, come and
  /// go each second.
  static let warningLimit = 6
  static let warningWindow = Duration.seconds(60)

  private let sink: JournalSink
  private let state = Guarded(State())
  private let latest: LatestStatus
  private let repeated: RepeatedLines
  private let repeatedWarnings: RepeatedLines

  init(sink: JournalSink, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.sink = sink
    let latest = LatestStatus()
    self.latest = latest
    repeated = RepeatedLines(limit: DeviceLog.lineLimit, within: DeviceLog.window, clock: clock) { count in
      guard let status = latest.value.withLock({ $0 }) else { return }
      DeviceLog.write(
        .notice,
        "\(status.id): \(count) more changes within \(Text.fixed(DeviceLog.window.inSeconds, 0)) s, now \(status.power.rawValue) "
          + "(\(status.reason))", status, to: sink)
    }
    repeatedWarnings = RepeatedLines(
      limit: DeviceLog.warningLimit, within: DeviceLog.warningWindow, clock: clock
    ) { count in
      guard let status = latest.value.withLock({ $0 }) else { return }
      DeviceLog.write(
        status.warning == nil ? .notice : .warning,
        "\(status.id): \(count) more warnings within \(Text.fixed(DeviceLog.warningWindow.inSeconds, 0)) s, now "
          + (status.warning ?? "none"), status, about: status.isSupplyStuck ? .supply : .warning, to: sink)
    }
  }

  func receive(_ status: DeviceStatus) {
    latest.value.withLock { $0 = status }
    guard let (priority, message, condition) = state.withLock({ state in line(status, &state) }),
      condition != nil ? repeatedWarnings.admit() : priority.isFault || repeated.admit()
    else { return }
    DeviceLog.write(priority, message, status, about: condition, to: sink)
  }

  /// - Parameter condition: the warning that begins or ends; `nil` for a change of the power state
  private static func write(
    _ priority: JournalSink.Priority, _ message: String, _ status: DeviceStatus,
    about condition: DeviceCondition.Kind? = nil, to sink: JournalSink
  ) {
    sink.write(
      priority, message,
      fields: [
        .init("SENSORHUB_DEVICE", status.id),
        .init("SENSORHUB_EVENT", condition?.rawValue ?? status.power.rawValue),
        .init("SENSORHUB_REASON", status.reason), .init("SENSORHUB_HOLDERS", status.holders.joined(separator: ", ")),
      ])
  }

  private func line(
    _ status: DeviceStatus, _ state: inout State
  ) -> (priority: JournalSink.Priority, message: String, condition: DeviceCondition.Kind?)? {
    let previous = state.previous
    state.previous = status
    defer { if status.power == .tracking { state.trackedWake = status.wakes } }
    if let warning = status.warning, warning != previous?.warning {
      let isStuck = status.isSupplyStuck
      return (isStuck ? .error : .warning, "\(status.id): \(warning)", isStuck ? .supply : .warning)
    }
    if status.warning == nil, let previous, let over = previous.warning {
      return (.notice, "\(status.id): resolved: \(over)", previous.isSupplyStuck ? .supply : .warning)
    }
    return transition(status, since: previous, &state).map { ($0.0, $0.1, nil) }
  }

  private func transition(
    _ status: DeviceStatus, since previous: DeviceStatus?, _ state: inout State
  ) -> (JournalSink.Priority, String)? {
    guard let previous, previous.power != status.power else { return nil }
    // The change comes from other devices on the same supply, which have their own log lines.
    if previous.power.isRest, status.power.isRest { return nil }
    switch status.power {
    case .failed:
      if state.fault == status.reason {
        state.repetitions += 1
        guard state.repetitions % DeviceLog.summaryEvery == 0 else { return nil }
        return (.warning, "\(status.id): still failing after \(state.repetitions) more attempts: \(status.reason)")
      }
      state.fault = status.reason
      state.repetitions = 0
      return (.warning, "\(status.id): failed: \(status.reason); trying again while the device has subscribers")
    case .off, .asleep, .awake, .settling, .acquiring:
      // While a fault lasts, these changes are only retries.
      if state.fault != nil, !status.power.isRest || !status.holders.isEmpty { return nil }
      if status.power.isRest { state.fault = nil }
      return (.notice, "\(status.id): \(status.power.rawValue) (\(detail(status)))")
    case .tracking:
      defer { state.fault = nil }
      if state.fault != nil { return (.notice, "\(status.id): works again") }
      if previous.power == .lingering {
        let holders = status.holders.isEmpty ? "" : " (for \(status.holders.joined(separator: ", ")))"
        return (.notice, "\(status.id): still tracking\(holders)")
      }
      // The receiver has tracked since it woke, and lost its fix in between.
      if state.trackedWake == status.wakes {
        return (
          .notice,
          "\(status.id): tracking again after \(Text.duration(seconds: (status.since - previous.since).inSeconds))"
        )
      }
      let time = status.timeToFirstFix.map { " after \(Text.fixed($0.inSeconds, 2)) s" } ?? ""
      return (.notice, "\(status.id): tracking\(time)")
    case .lingering: return (.notice, "\(status.id): lingering (\(detail(status)))")
    }
  }

  private func detail(_ status: DeviceStatus) -> String {
    status.power.isRest
      ? "\(status.reason); on for \(Text.fixed(status.onTime.inSeconds, 1)) s in \(status.wakes) \(status.wakes == 1 ? "wake" : "wakes"), "
        + "\(Text.fixed(status.energyMilliwattHours, 3)) mWh" : status.reason
  }
}
