import Testing

@testable import Outputs

/// The input of gpsd clients, divided into requests.
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
    (["?WATCH={\"enable\":true\n"], ["WATCH={\"enable\":true\n"]),
    (["?WATCH={\"enable\":true\r\n?POLL;"], ["WATCH={\"enable\":true\r\n", "POLL"]),
    (["?WATCH={\"enable\":true,\n\"json\":true};"], ["WATCH={\"enable\":true,\n\"json\":true}"]),
    (["?WATCH={\"enable\":true"], []),
  ]

  @Test(arguments: packets) func `requests are separated, however their bytes arrive`(
    _ packets: [String], _ expected: [String]
  ) {
    var requests = GPSDRequests()
    #expect(packets.flatMap { take($0, &requests) }.map(text) == expected)
  }

  @Test func `an object that arrives byte by byte is the same as in one piece, whatever its strings contain`() {
    let text = #"?WATCH={"enable":true,"x":"a;}{\\n?\"}","device":{"a":"}"}};?POLL;"# + "\n"
    var (whole, pieces) = (GPSDRequests(), GPSDRequests())
    let expected = Array(text.utf8).withUnsafeBufferPointer { whole.take($0) }
    let taken = text.utf8.flatMap { byte in withUnsafeBytes(of: byte) { pieces.take($0.bindMemory(to: UInt8.self)) } }
    #expect(expected.map(\.name) == ["WATCH", "POLL"])
    #expect(taken == expected)
  }

  @Test func `a request that never ends is dropped, and the next request is handled`() {
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

  /// The expected answers are those of Debian's gpsd 3.22 to the same requests.
  @Test(arguments: [
    ("{\"enable\":1}", "\"enable\":false,\"json\":false,\"nmea\":false,\"raw\":0"),
    ("{\"raw\":true}", "\"enable\":true,\"json\":false,\"nmea\":false,\"raw\":0"),
    ("{\"raw\",2}", "\"enable\":true,\"json\":false,\"nmea\":false,\"raw\":0"),
    ("{\"enable\":true,\"json\":true\n", "\"enable\":true,\"json\":false,\"nmea\":false,\"raw\":0"),
    ("{\"json\":1,\"nmea\":0}", "\"enable\":true,\"json\":false,\"nmea\":false,\"raw\":0"),
    ("{\"foo\":[1,{\"a\":\"}\"}],\"json\":true}", "\"enable\":true,\"json\":true,\"nmea\":false,\"raw\":0"),
    ("{\"enable\":false,\"json\":true}", "\"enable\":false,\"json\":true,\"nmea\":false,\"raw\":0"),
    ("{\"class\":\"WATCH\",\"raw\":2.5,\"enable\":null}", "\"enable\":false,\"json\":false,\"nmea\":false,\"raw\":2"),
  ])
  func `a watch is interpreted as gpsd interprets it`(_ object: String, _ answer: String) throws {
    var watch = GPSDWatch()
    try watch.change(by: Array(object.utf8))
    var json = JSONWriter()
    watch.write(to: &json)
    let text = String(decoding: json.bytes, as: UTF8.self)
    #expect(text.hasPrefix("{\"class\":\"WATCH\",\(answer),"), "\(text)")
  }

  @Test(arguments: ["{\"enable\":\"yes\"}", "{\"device\":1}", "{enable:true}", "true"])
  func `a watch that gpsd would refuse changes nothing`(_ object: String) {
    var watch = GPSDWatch()
    #expect(throws: GPSDMembers.Refusal.self) { try watch.change(by: Array(object.utf8)) }
    #expect(watch == GPSDWatch())
  }
}
