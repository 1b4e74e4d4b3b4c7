import MonotonicTime
import NMEA
import Testing

@testable import Hub
@testable import Outputs

/// The reports about fences for viewers.
struct FenceReportTests {
  private static func at(_ seconds: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64(seconds * 1e9)) }

  private static func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
    Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)
  }

  /// The text of a report a hundred seconds after the clock's start.
  private func text(_ snapshot: FenceSnapshot) -> String {
    var json = JSONWriter()
    FenceReport.write([snapshot], at: Self.at(100), to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  @Test func `a fence's report contains where the board is, its side and when the next fix is due`() throws {
    var status = FenceStatus(name: "anchor", since: Self.at(40))
    (status.state, status.event, status.metresBeyond) = (.inside, .found, -12.34)
    status.fix = FenceFix(place: Self.place(54.25, 10.125), sigmaMetres: 1.5, at: Self.at(90))
    let area = try FenceArea(circleAbout: Self.place(54.25, 10.25), radiusMetres: 40)
    #expect(
      text(FenceSnapshot(area: area, status: status, dueAt: Self.at(125), blindAt: Self.at(145)))
        == #"{"class":"FENCES","fences":{"anchor":{"state":"inside","seconds":60.0,"event":"found","beyond":-12.3,"#
        + #""position":{"lat":54.250000000,"lon":10.125000000,"sigmaHorizontal":1.500,"age":10.0},"#
        + #""due":25.0,"unknownIn":45.0,"circle":[54.2500000,10.2500000,40.00]}}}"# + "\n")
  }

  @Test func `a fence without a fix is reported as overdue and unknown`() throws {
    var status = FenceStatus(name: "yard", since: Self.at(95))
    status.event = .lost
    let area = try FenceArea(polygon: [Self.place(1, 2), Self.place(1, 2.125), Self.place(1.125, 2)])
    #expect(
      text(FenceSnapshot(area: area, status: status, dueAt: Self.at(75), blindAt: nil))
        == #"{"class":"FENCES","fences":{"yard":{"state":"unknown","seconds":5.0,"event":"lost","due":-25.0,"#
        + #""polygon":[[1.0000000,2.0000000],[1.0000000,2.1250000],[1.1250000,2.0000000]]}}}"# + "\n")
  }
}
