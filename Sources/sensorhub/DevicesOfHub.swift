import FoundationEssentials
import Hub
import Outputs

/// A running hub's report about its devices. The request wakes no device.
enum DevicesOfHub {
  struct Device: Decodable {
    var id: String
    var kind: String
    var title: String
    var power: String
    var forSeconds: Double
    var reason: String
    var holders: [String]
    var onSeconds: Double
    var wakes: Int
    var energyMilliwattHours: Double
    var measuredMilliwattHours: Double
    var lingersForSeconds: Double?
    /// The warning about the device, for its owner.
    var remark: String?
    /// The problems, the worst first; `nil` if the device works, or if the hub is too old to report them.
    var conditions: [ConditionReport]?
    /// `simulated` or `recorded`; `nil` for a real device.
    var origin: String?
    var bills: EnergyBySpan
    var linger: IdleTimeout
    /// The state of the device's daily energy budget; `nil` without a budget.
    var budget: Budget?
    /// The device's scheduled fixes; `nil` without any.
    var schedules: [Schedule]?
    /// The state of the receiver's corrections; `nil` without a caster.
    var corrections: Corrections?
  }

  struct Corrections: Decodable {
    var source, phase: String
    var ageSeconds: Double?
    var bytes: Int
    /// The number of messages by RTCM 3 type.
    var messages: [String: Int]
    var lost: Int
    /// The distance from the receiver to the base station, in metres; `nil` until the station has sent its position.
    var baseDistanceMetres: Double?
    /// The receiver's report about its use of the messages; `nil` if it sends none.
    var receiver: Outcomes?
  }

  struct Outcomes: Decodable {
    var used, unused, unknown, damaged: Int
  }

  struct Budget: Decodable {
    var milliwattHoursPerDay, leftMilliwattHours: Double
    var steps, stepsTaken: Int
  }

  struct Degraded: Decodable {
    var everySeconds: Double
    var accuracyMetres: Double?
  }

  struct Schedule: Decodable {
    var holder: String
    var everySeconds: Double
    var accuracyMetres: Double?
    /// The request as relaxed by the receiver's energy budget; `nil` if it is not relaxed.
    var relaxed: Degraded?
    var dueInSeconds: Double
    var reason: String
  }

  struct ClientEnergy: Decodable {
    var payer: String
    var milliwattHours: Double
  }

  struct EnergyBySpan: Decodable {
    /// The energy per client: since the hub started, in the last day, and in the last week.
    var run, day, week: [ClientEnergy]
  }

  struct IdleTimeout: Decodable {
    var explanation: [String]
  }

  struct BoardSleep: Decodable {
    var sleep, reason: String
    /// Whether a fault keeps the machine awake, which its owner must remove.
    var isProblem: Bool
    var sleeps: Int
    var asleepSeconds, alarmLeadSeconds: Double
    var wakesInSeconds: Double?

    /// A line such as `board: awake: gps is lingering; has slept 12 times, for 1 h 48 min`.
    var line: String {
      let times = sleeps == 1 ? "once" : "\(sleeps) times"
      let past = sleeps == 0 ? "has not slept yet" : "has slept \(times), for \(Text.duration(seconds: asleepSeconds))"
      return "board: awake: \(Text.printable(reason)); \(past)"
    }
  }

  struct Report: Decodable {
    var devices: [Device]
    /// The problems of the hub itself: an invalid board file.
    var conditions: [ConditionReport]?
    /// The sleep of the machine; `nil` on a board that does not sleep.
    var board: BoardSleep?

    /// All problems, each with the name of its device, or `board file`.
    var troubles: [(name: String, condition: ConditionReport)] {
      (conditions ?? []).map { ("board file", $0) }
        + devices.flatMap { device in (device.conditions ?? []).map { (device.id, $0) } }
    }
  }

  static func read(_ socket: String?) throws -> [Device] {
    try report(socket).devices
  }

  /// - Parameter limit: the longest wait for the answer
  static func report(_ socket: String?, within limit: Duration = HubConnection.answerTime) throws -> Report {
    try report(of: try line(socket, within: limit))
  }

  static func read(_ report: [UInt8]) throws -> [Device] { try self.report(of: report).devices }

  static func report(of report: [UInt8]) throws -> Report {
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(report)) else {
      throw CommandError(
        .inputOutput, "the hub's answer cannot be understood",
        nextStep: "check that sensorhub and the hub have the same version")
    }
    return report
  }

  /// `REPLAY` if a device is a recorded one, else `SIMULATED` if a device is simulated; `nil` if all devices are real.
  static func mark(of devices: [Device]) -> String? {
    let origins = Set(devices.compactMap(\.origin).compactMap(DeviceStatus.Origin.init))
    return (origins.contains(.recorded) ? DeviceStatus.Origin.recorded : origins.first)?.mark
  }

  /// The hub's report as one JSON object.
  static func line(_ socket: String?, within limit: Duration = HubConnection.answerTime) throws -> [UInt8] {
    var connection = try HubConnection.open(socket) { $0.devices }
    return try connection.answer(within: limit)
  }
}
