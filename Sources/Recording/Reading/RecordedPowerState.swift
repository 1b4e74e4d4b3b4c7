import FoundationEssentials
import NMEA

/// The parts of a message on the topic `/power` that are used.
struct RecordedPowerState: Decodable {
  /// The power states in which a device is not known to be on.
  static let rests: Set<String> = ["off", "asleep", "failed", "unknown"]

  var id: String
  var power: String
  var reason: String?
  var holders: [String]?

  /// `nil` if the data is invalid.
  init?(_ data: ArraySlice<UInt8>) {
    guard let power = try? JSONDecoder().decode(RecordedPowerState.self, from: Data(data)) else { return nil }
    self = power
  }

  func change(at time: UTCTime) -> PowerChange {
    PowerChange(id: id, power: power, time: time, reason: reason, holders: holders ?? [])
  }
}
