import Hub
import Publishing
import Testing

@testable import Outputs

struct ClientNameTests {
  @Test(
    arguments: [
      ("watch", "watch"), ("my-logger_2.0", "my-logger_2.0"), ("Zähler", "Zähler"), ("", nil), ("a b", "\"a b\""),
      ("held for 127.0.0.1", "\"held for 127.0.0.1\""), ("x, journal", "\"x, journal\""),
      ("journal", "\"journal\""), ("recorder", "\"recorder\""), ("journals", "journals"),
      ("a[12]", "\"a[12]\""), ("a\"b\\", "\"a\\\"b\\\\\""),
      ("x\n12:00:00 error: gps", "\"x\\n12:00:00 error: gps\""), ("\u{1b}[31mred", "\"\\u{1b}[31mred\""),
      ("\u{202e}evil", "\"\\u{202e}evil\""), ("a\u{2028}b", "\"a\\u{2028}b\""), ("\u{7f}", "\"\\u{7f}\""),
      ("0123456789012345678901234567890123456789xyz", "0123456789012345678901234567890123456789"),
      ("ααααααααααααααααααααα", "αααααααααααααααααααα"),
      ("123456789012345678901234567890123456789α", "123456789012345678901234567890123456789"),
      (
        "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
        nil
      ),
    ] as [(String, String?)])
  func `a client's name is short, shows hidden characters, and cannot look like another name`(
    _ name: String, _ shown: String?
  ) {
    #expect(ClientName.shown(name) == shown)
    #expect((ClientName.shown(name) ?? "").utf8.count <= 40)
  }

  private let python = ClientPeer(process: 812, called: "python3")

  @Test func `a client that states a name keeps its process number in it`() {
    #expect(python.called("logger")?.description == "logger[812]")
    #expect(python.called("a[12]")?.description == "\"a[12]\"[812]")
    #expect(python.called("") == nil)
    #expect(ClientPeer(by: "socket client").called("logger")?.description == "logger")
    // A client at an address has no process whose number could follow the name.
    #expect(ClientPeer(host: "[::1]", port: 40022).called("logger")?.description == "logger")
  }

  @Test func `a client's energy account has the same name at each visit, while each visit is a new holder`() throws {
    func account(_ holder: Holder) -> [String?] { [holder.label, holder.payer?.name] }
    #expect(account(python.holder()) == ["python3[812]", "python3"])
    #expect(account(try #require(python.called("my log")).holder()) == ["\"my log\"[812]", "\"my log\""])
    #expect(
      account(ClientPeer(host: "127.0.0.1", port: 40022).holder("gpsd")) == ["gpsd 127.0.0.1:40022", "gpsd 127.0.0.1"])
    #expect(account(ClientPeer(host: "[::1]", port: 40022).holder("web")) == ["web [::1]:40022", "web [::1]"])
    #expect(account(python.holder("gpsd").wanting([.attitude])) == ["gpsd python3[812] (attitude)", "gpsd python3"])
    // A broker's viewers choose any name, and another with each visit.
    for viewer in ["alice", "gpsd 127.0.0.1:1", "x (attitude)"] {
      let interest = try #require(ViewerRequest.read(Array("{\"rateHz\":5}".utf8), of: .state).interest)
      #expect(account(ViewerLeases.holder(viewer, interest)) == ["mqtt \(viewer) 5 Hz", "mqtt"])
    }
    #expect(python.holder().id == python.called("logger")?.holder("nmea").id)
    #expect(python.holder().id != ClientPeer(process: 812, called: "python3").holder().id)
  }
}
