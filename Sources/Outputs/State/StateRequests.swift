import FoundationEssentials
import Hub

/// Cuts what a client of the state sends into requests, a JSON object to a line: `{"rateHz": 5, "parts": ["attitude"],
/// "name": "watch"}`.
struct StateRequests {
  struct Request: Decodable {
    var rateHz: Double?
    var name: String?
    var parts: [String]?
    /// A fix now and then in place of states: seconds, metres, seconds.
    var every: Double?
    var accuracy: Double?
    var within: Double?
    /// What to calibrate instead of sending states, and of which device.
    var calibrate: String?
    var device: String?

    /// `nil` where it does not ask for one, or for one that there is not.
    var schedule: Schedule? {
      every.flatMap { Schedule(everySeconds: $0, accuracyMetres: accuracy, withinSeconds: within) }
    }

    /// Who wants a fix now and then wants no states beside it.
    fileprivate var isScheduleSound: Bool {
      every == nil ? accuracy == nil && within == nil : schedule != nil && rateHz == nil && parts == nil
    }
  }

  /// A request is short; what grows without an end is none.
  static let maximumLength = 4096

  private var pending: [UInt8] = []

  /// Takes the next bytes; returns the requests that they complete, `nil` for each line that is none.
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Request?] {
    pending += bytes
    var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    pending = Array(lines.removeLast())
    if pending.count > StateRequests.maximumLength { pending = [] }
    return lines.filter { !$0.isEmpty }.map(StateRequests.request)
  }

  private static func request(_ line: ArraySlice<UInt8>) -> Request? {
    guard let request = try? JSONDecoder().decode(Request.self, from: Data(line)),
      request.rateHz.map({ (0.01...1000).contains($0) }) ?? true,
      request.parts.map({ Set<StatePart>(names: $0) != nil }) ?? true,
      request.calibrate.map({ CalibrationKind(rawValue: $0) != nil }) ?? true, request.isScheduleSound
    else { return nil }
    return request
  }
}
