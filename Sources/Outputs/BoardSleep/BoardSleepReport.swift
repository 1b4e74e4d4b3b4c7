import Hub
import MonotonicTime

/// The sleep of the machine as outputs show it.
public struct BoardSleepReport: Equatable, Sendable {
  public var way: BoardSleepSettings.Way
  /// Why the machine is awake.
  public var reason: String
  /// Whether a fault keeps the machine awake, which its owner must remove.
  public var isProblem: Bool
  /// The number of sleeps, over all runs of the hub.
  public var sleepCount: Int
  /// The time asleep, over all runs.
  public var asleepSeconds: Double
  /// The time from the alarm to the planned wake of devices, which the machine needs to start.
  public var wakeSeconds: Double
  /// The next wake of devices; `nil` if none is planned.
  public var nextWake: MonotonicInstant?
}

extension BoardSleepReport {
  func write(at now: MonotonicInstant, to json: inout JSONWriter) {
    json.key("board")
    json.beginObject()
    json.key("sleep")
    json.string(way.rawValue)
    json.member("reason", Text.printable(reason))
    json.member("isProblem", isProblem)
    json.member("sleeps", sleepCount)
    json.member("asleepSeconds", asleepSeconds, decimals: 1)
    json.member("alarmLeadSeconds", wakeSeconds, decimals: 1)
    json.member("wakesInSeconds", nextWake.map { ($0 - now).inSeconds }, decimals: 1)
    json.endObject()
  }
}
