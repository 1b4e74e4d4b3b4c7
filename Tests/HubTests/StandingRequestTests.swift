import TestSupport
import Testing

@testable import Hub

/// Standing requests of board files.
struct StandingRequestTests {
  private func read(_ requests: String) throws -> [StandingRequest] {
    let text = "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p' } },\n requests: \(requests) }"
    return try Board(json5: Array(text.utf8), file: "board").requests
  }

  @Test func `a standing request has a name and the keys of any other request`() throws {
    let requests = try read(
      "[{ name: 'log', every: 600, accuracy: 10, within: 45, distance: 50, maxAge: 300 }, { name: 'track', error: 25 }]"
    )
    #expect(requests.map(\.name) == ["log", "track"])
    var schedule = Schedule(every: .seconds(600), accuracyMetres: 10, within: .seconds(45))
    schedule.maxAge = .seconds(300)
    #expect(requests[0].request.form == .fixes(schedule))
    #expect(requests[0].request.distanceMetres == 50)
    #expect(requests[1].request.form == .bounded(metres: 25, within: Schedule.usualWithin))
    #expect(
      requests.map { "\($0)" } == [
        "log: a fix every 600 s, to 10 m, or one that is at most 300 s old, if it has moved 50 m",
        "track: fixes that keep the position within 25 m",
      ])
    #expect(try read("{ name: 'log', every: 60 }").count == 1)
    #expect(try read("[]").isEmpty && read("null").isEmpty)
  }

  private static let wrong: [(String, String)] = [
    ("[{ every: 60 }]", "board:2: 'requests[0].name'"),
    ("[{ name: 'my log', every: 60 }]", "'requests[0].name' must be at most 24 letters"),
    ("[{ name: 'log' }]", "'requests[0].every'"),
    ("[{ name: 'log', every: 0 }]", "'requests[0].every' must be a number from 1 to 604800"),
    ("[{ name: 'log', rateHz: 1 }]", "'requests[0].rateHz' must be left out: a standing request is for fixes"),
    ("[{ name: 'log', every: 60, error: 25 }]", "'requests[0].error' must be left out with 'every'"),
    ("[{ name: 'log', error: 25, accuracy: 5 }]", "'requests[0].accuracy' must be left out with 'error'"),
    ("[{ name: 'log', every: 60, acuracy: 5 }]", "unknown key 'requests[0].acuracy'; did you"),
    ("[{ name: 'log', every: 60 },\n { name: 'log', every: 90 }]", "board:3: 'requests[1].name' must be another name"),
    ("'log'", "'requests' must be an object"),
  ]

  @Test(arguments: wrong)
  func `an invalid request is reported with its line and key`(_ requests: String, _ message: String) {
    let error = #expect(throws: BoardError.self) { try read(requests) }
    #expect(error.map { "\($0)".contains(message) } == true, "\(error.map { "\($0)" } ?? "none")")
  }
}
