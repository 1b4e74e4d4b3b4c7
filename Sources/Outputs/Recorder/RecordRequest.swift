import FoundationEssentials
import Hub

/// A request on `record.sock`, a JSON object in one line, for example `{"name": "record", "wakes": true, "syncSeconds":
/// 1}`.
struct RecordRequest: Decodable {
  /// The longest request, in bytes.
  static let maximumLength = 4096
  /// The text for a client whose request is invalid.
  static let help =
    #"send one line: {"name": "name of your program", "wakes": false to observe only, "parts": some of [\#(Set<StatePart>.all.names)] "#
    + #"to wake only their devices, "syncSeconds": 0.1 to 60}"#

  var name: String?
  /// Whether the recording powers the devices; `nil` counts as `true`.
  var wakes: Bool?
  var parts: [String]?
  /// The longest time that data may wait before it is sent, in seconds, from 0.1 to 60; `nil` counts as 1.
  var syncSeconds: Double?

  private enum CodingKeys: String, CodingKey, CaseIterable { case name, wakes, parts, syncSeconds }

  init(from decoder: any Decoder) throws {
    try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    name = try values.decodeIfPresent(String.self, forKey: .name)
    wakes = try values.decodeIfPresent(Bool.self, forKey: .wakes)
    parts = try values.decodeIfPresent([String].self, forKey: .parts)
    syncSeconds = try values.decodeIfPresent(Double.self, forKey: .syncSeconds)
  }

  /// Reads a request.
  ///
  /// - Returns: the request; `nil` if the line is not a valid request
  /// - Throws: `RequestKey.Unknown` if the request has an unknown key
  static func read(_ line: some Collection<UInt8>) throws(RequestKey.Unknown) -> RecordRequest? {
    let request: RecordRequest
    do {
      request = try JSONDecoder().decode(RecordRequest.self, from: Data(line))
    } catch let unknown as RequestKey.Unknown {
      throw unknown
    } catch {
      return nil
    }
    guard request.syncSeconds.map({ (0.1...60).contains($0) }) ?? true,
      request.parts.map({ Set<StatePart>(names: $0) != nil }) ?? true
    else { return nil }
    return request
  }

  var syncInterval: Duration { .nanoseconds(Int64((syncSeconds ?? 1) * 1e9)) }

  var demand: RecordingFeed.Demand {
    if wakes == false { return .nothing }
    return parts.flatMap { Set<StatePart>(names: $0) }.map { .parts($0) } ?? .everything
  }
}
