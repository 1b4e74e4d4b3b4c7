import Fusion
import FoundationEssentials
import MonotonicTime
import Testing

@testable import Outputs

/// The position that OwnTracks programs receive, and its time.
struct OwnTracksReportTests {
  private struct Location: Decodable, Equatable {
    var _type: String
    var lat, lon: Double
    var tst: Int
    var tid: String
    var t: String?
    var acc, alt, vac, vel, cog: Int?
  }

  private static let utc: Int64 = 1_700_000_000_250_000_000

  /// A state whose position was measured two seconds earlier.
  private func state(utcNanoseconds: Int64? = OwnTracksReportTests.utc) -> FusedState {
    let now = MonotonicInstant(nanoseconds: 100_000_000_000)
    let then = now + .seconds(-2)
    var state = FusedState(at: now)
    state.mode = .gnss
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: -33.856_8, longitudeDegrees: 151.215_3, altitudeHAEMetres: 60, altitudeMSLMetres: 38.4,
        horizontalSigmaMetres: 2, verticalSigmaMetres: 3), at: then, source: .gps)
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 10, trackDegrees: 359.8, climbMetresPerSecond: 0), at: then, source: .gps)
    state.fix = Dated(
      FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: utcNanoseconds), at: now,
      source: .gps)
    return state
  }

  private func location(_ state: FusedState, isScheduled: Bool = false) throws -> Location {
    var json = JSONWriter()
    let seconds = try #require(OwnTracksReport.seconds(of: state))
    OwnTracksReport.write(state, at: seconds, trackerID: "SH", isScheduled: isScheduled, to: &json)
    return try JSONDecoder().decode(Location.self, from: Data(json.bytes))
  }

  @Test func `a position is reported with the time of its measurement, in whole units of OwnTracks`() throws {
    let location = try location(state(), isScheduled: true)
    let expected = Location(
      _type: "location", lat: -33.856_8, lon: 151.215_3, tst: 1_699_999_998, tid: "SH", t: "t", acc: 5, alt: 38, vac: 6,
      vel: 36, cog: 0)
    #expect(location == expected)
  }

  @Test func `the position of a board that has not moved is reported with the current time`() {
    #expect(OwnTracksReport.seconds(of: state()) == 1_699_999_998)
    #expect(OwnTracksReport.seconds(of: state(), isStill: true) == 1_700_000_000)
  }

  @Test func `without the receiver's time, a position has the system clock's time if the clock was ever set`() {
    let undated = state(utcNanoseconds: nil)
    #expect(OwnTracksReport.seconds(of: undated, systemNanoseconds: 1_800_000_000_000_000_000) == 1_799_999_998)
    #expect(OwnTracksReport.seconds(of: undated, systemNanoseconds: 1_000_000_000_000) == nil)
  }

  @Test func `unknown values are omitted`() throws {
    var state = state()
    state.motion = nil
    state.position?.value.altitudeMSLMetres = nil
    state.position?.value.horizontalSigmaMetres = nil
    state.position?.value.verticalSigmaMetres = nil
    let location = try location(state)
    #expect(location.vel == nil && location.cog == nil && location.alt == nil && location.t == nil)
    #expect(location.acc == nil && location.vac == nil)
    state.position = nil
    #expect(OwnTracksReport.seconds(of: state) == nil)
  }
}
