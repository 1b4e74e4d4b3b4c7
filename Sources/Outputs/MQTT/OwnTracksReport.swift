import CLinux
import Fusion
import MonotonicTime
import NMEA

/// A position in OwnTracks' format: a JSON object whose `_type` is `location` (owntracks.org/booklet/tech/json).
///
/// `lat` and `lon` are in degrees, `alt` (above sea level), `acc` and `vac` in metres, `vel` in km/h, `cog` in degrees,
/// and `p` in kilopascals. `tst` is the time of the measurement in seconds since 1970. `acc` is the radius that
/// contains 95 of 100 positions, as in Home Assistant's tracker of the hub.
enum OwnTracksReport {
  /// 2020-01-01. A system clock that shows an earlier time was never set.
  private static let earliest: Int64 = 1_577_836_800

  /// The time of a state's position in seconds since 1970, from the receiver or else from the system's clock; `nil`
  /// without a position, or if the clock was never set.
  ///
  /// - Parameter isStill: whether the board has not moved since the measurement, so that the position is valid now
  static func seconds(
    of state: FusedState, isStill: Bool = false, systemNanoseconds: Int64 = clinux_realtime_ns()
  ) -> Int64? {
    guard let position = state.position else { return nil }
    let measured = isStill ? state.at : position.at
    let age = state.at.nanoseconds &- measured.nanoseconds
    let utc = state.utc(at: measured)?.nanosecondsSince1970 ?? (systemNanoseconds &- age)
    let seconds = utc / 1_000_000_000
    return seconds >= earliest ? seconds : nil
  }

  /// - Parameters:
  ///   - seconds: when the position was measured
  ///   - isScheduled: whether the position is a scheduled fix
  static func write(
    _ state: FusedState, at seconds: Int64, trackerID: String, isScheduled: Bool, to json: inout JSONWriter
  ) {
    guard let position = state.position?.value else { return }
    json.beginObject()
    json.member("_type", literal: "location")
    json.member("lat", position.latitudeDegrees, decimals: 7)
    json.member("lon", position.longitudeDegrees, decimals: 7)
    json.member("tst", Int(seconds))
    json.member("tid", trackerID)
    if isScheduled { json.member("t", literal: "t") }
    json.member("acc", whole(position.horizontalSigmaMetres.map { $0 * Confidence.radial }, .up))
    json.member("alt", whole(position.altitudeMSLMetres))
    json.member("vac", whole(position.verticalSigmaMetres.map { $0 * Confidence.axis }, .up))
    if let motion = state.motion?.value {
      json.member("vel", whole(motion.speedMetresPerSecond * 3.6))
      json.member("cog", whole(motion.trackDegrees).map { ($0 % 360 + 360) % 360 })
    }
    json.member("p", (state.air?.value.pressurePascals).map { $0 / 1000 }, decimals: 3)
    json.endObject()
  }

  private static func whole(_ value: Double?, _ rule: FloatingPointRoundingRule = .toNearestOrEven) -> Int? {
    value.flatMap { Int(exactly: $0.rounded(rule)) }
  }
}
