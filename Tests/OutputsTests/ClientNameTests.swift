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
  func `a name is short, shows all that is in it and passes for nothing else`(_ name: String, _ shown: String?) {
    #expect(ClientName.shown(name) == shown)
    #expect((ClientName.shown(name) ?? "").utf8.count <= 40)
  }

  @Test func `the process stays, whatever it calls itself`() {
    #expect(ClientName.shown("logger", of: "python3[812]") == "logger[812]")
    #expect(ClientName.shown("a[12]", of: "python3[812]") == "\"a[12]\"[812]")
    #expect(ClientName.shown("", of: "python3[812]") == nil)
    #expect(ClientName.shown("logger", of: "socket client") == "logger")
  }
}
