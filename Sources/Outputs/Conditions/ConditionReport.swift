import Hub
import MonotonicTime

/// A problem of a device or of the board file, as JSON and as one line to show.
public struct ConditionReport: Decodable, Equatable, Sendable {
  public var kind: String
  public var severity: String
  public var summary: String
  public var nextStep: String?
  public var forSeconds: Double

  init(_ condition: DeviceCondition, at now: MonotonicInstant) {
    kind = condition.kind.rawValue
    severity = condition.severity.rawValue
    summary = condition.summary
    nextStep = condition.nextStep
    forSeconds = (now - condition.since).inSeconds
  }

  static func write(_ conditions: [DeviceCondition], at now: MonotonicInstant, to json: inout JSONWriter) {
    guard !conditions.isEmpty else { return }
    json.key("conditions")
    json.beginArray()
    for condition in conditions {
      json.beginObject()
      json.key("kind")
      json.string(condition.kind.rawValue)
      json.key("severity")
      json.string(condition.severity.rawValue)
      json.member("summary", Text.printable(condition.summary))
      json.member("nextStep", condition.nextStep.map(Text.printable))
      json.member("forSeconds", (now - condition.since).inSeconds, decimals: 1)
      json.endObject()
    }
    json.endArray()
  }

  /// Identifies the problem. It does not change while only the problem's duration grows.
  public var identity: String { "\(kind) \(severity) \(nextStep ?? summary)" }

  /// Whether a person must act. Otherwise it is enough to wait.
  public var isLoud: Bool { severity != DeviceCondition.Severity.waiting.rawValue }

  /// The problem with its duration: `failed for 3 min 20 s: there is no serial port /dev/ttyUSB0`
  public var headline: String {
    Text.printable("\(kind) for \(Text.duration(seconds: max(0, forSeconds).rounded(.down))): \(summary)")
  }

  /// The headline with the next step.
  public var text: String { nextStep.map { "\(headline); \(Text.printable($0))" } ?? headline }
}
