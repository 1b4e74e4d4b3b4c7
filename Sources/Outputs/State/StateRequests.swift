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
    /// `all`: everything is to end that others keep in the hub.
    var release: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case rateHz, rate, name, parts, every, accuracy, within, calibrate, device, release
    }

    init(from decoder: any Decoder) throws {
      try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
      let values = try decoder.container(keyedBy: CodingKeys.self)
      rateHz = try RequestKey.either(
        values.decodeIfPresent(Double.self, forKey: .rateHz), values.decodeIfPresent(Double.self, forKey: .rate))
      name = try values.decodeIfPresent(String.self, forKey: .name)
      parts = try values.decodeIfPresent([String].self, forKey: .parts)
      every = try values.decodeIfPresent(Double.self, forKey: .every)
      accuracy = try values.decodeIfPresent(Double.self, forKey: .accuracy)
      within = try values.decodeIfPresent(Double.self, forKey: .within)
      calibrate = try values.decodeIfPresent(String.self, forKey: .calibrate)
      device = try values.decodeIfPresent(String.self, forKey: .device)
      release = try values.decodeIfPresent(String.self, forKey: .release)
    }

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

  /// What a line asks for.
  enum Line {
    case request(Request)
    /// It has a key that there is not.
    case unknownKey(RequestKey.Unknown)
    case none

    var request: Request? {
      if case .request(let request) = self { request } else { nil }
    }
  }

  /// Takes the next bytes; returns what the lines ask for that they complete.
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Line] {
    pending += bytes
    var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    pending = Array(lines.removeLast())
    if pending.count > StateRequests.maximumLength { pending = [] }
    return lines.filter { !$0.isEmpty }.map(StateRequests.request)
  }

  private static func request(_ line: ArraySlice<UInt8>) -> Line {
    let request: Request
    do {
      request = try JSONDecoder().decode(Request.self, from: Data(line))
    } catch let unknown as RequestKey.Unknown {
      return .unknownKey(unknown)
    } catch {
      return .none
    }
    guard request.rateHz.map({ (0.01...1000).contains($0) }) ?? true,
      request.parts.map({ Set<StatePart>(names: $0) != nil }) ?? true,
      request.calibrate.map({ CalibrationKind(rawValue: $0) != nil }) ?? true,
      request.release.map({ $0 == "all" }) ?? true, request.isScheduleSound
    else { return .none }
    return .request(request)
  }
}
