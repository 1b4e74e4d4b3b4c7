import FoundationEssentials
import NMEA

/// The part of a message of the topic `/power` that is used here.
struct RecordedPowerState: Decodable {
  /// Powers that cost nothing, or nearly so.
  static let rests: Set<String> = ["off", "asleep", "failed", "unknown"]

  var id: String
  var power: String
  var reason: String?
  var holders: [String]?

  /// `nil` for anything else.
  init?(_ data: ArraySlice<UInt8>) {
    guard let power = try? JSONDecoder().decode(RecordedPowerState.self, from: Data(data)) else { return nil }
    self = power
  }

  func change(at time: UTCTime) -> PowerChange {
    PowerChange(id: id, power: power, time: time, reason: reason, holders: holders ?? [])
  }
}
