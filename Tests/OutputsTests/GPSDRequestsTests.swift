import Testing

@testable import Outputs

/// What clients of the gpsd protocol send, cut into requests.
struct GPSDRequestsTests {
  typealias Request = GPSDRequests.Request

  static let packets: [(packets: [String], requests: [String])] = [
    (["?VERSION;"], ["VERSION"]),
    (["?version;\r\n"], ["VERSION"]),
    (["?POLL;?DEVICES;\n"], ["POLL", "DEVICES"]),
    (["?WATCH={\"class\":\"WATCH\", \"nmea\":true}"], ["WATCH={\"class\":\"WATCH\", \"nmea\":true}"]),
    (["?WATCH={\"enable\":true};?POLL;"], ["WATCH={\"enable\":true}", "POLL"]),
    (["?WA", "TCH={\"en", "able\":true", "}"], ["WATCH={\"enable\":true}"]),
    (["?WATCH={\"device\":\"a}b\\\"{\"};"], ["WATCH={\"device\":\"a}b\\\"{\"}"]),
    (["?WATCH={\"a\":{\"b\":{}}}\r\n"], ["WATCH={\"a\":{\"b\":{}}}"]),
    (["?WATCH = {};"], ["WATCH", ""]),
    (["hello\n?POLL;"], ["", "POLL"]),
    (["GET / HTTP/1.1\r\n\r\n"], [""]),
    (["?WATCH=1;?POLL;"], ["", "", "POLL"]),
    (["?;"], [""]),
    (["  \r\n;;"], []),
    (["?POLL"], []),
  ]

  @Test(arguments: packets) func `requests are cut out however they come`(_ packets: [String], _ expected: [String]) {
    var requests = GPSDRequests()
    #expect(packets.flatMap { take($0, &requests) }.map(text) == expected)
  }

  @Test func `what never ends is given up, and the next request is heard`() {
    var requests = GPSDRequests()
    let endless = "?WATCH={" + String(repeating: "x", count: GPSDRequests.maximumLength)
    #expect(take(endless, &requests).map(text) == [""])
    #expect(take("?POLL;", &requests).map(text) == ["POLL"])
  }

  private func take(_ packet: String, _ requests: inout GPSDRequests) -> [Request] {
    Array(packet.utf8).withUnsafeBufferPointer { requests.take($0) }
  }

  private func text(_ request: Request) -> String {
    request.name + (request.object.map { "=" + String(decoding: $0, as: UTF8.self) } ?? "")
  }
}
