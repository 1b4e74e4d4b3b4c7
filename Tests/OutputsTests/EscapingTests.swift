import FoundationEssentials
import Glibc
import Hub
import TestSupport
import Testing

@testable import Outputs

/// Text from others that is written into other formats.
struct EscapingTests {
  /// Characters that Swift joins with their neighbours, unlike other programs.
  private static let sticky = ["", "\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}"]

  @Test func `a page shows any text as text, also next to characters that join or reorder others`() {
    for before in ["", "\u{600}", "\u{110BD}", "\u{0D4E}"] {
      for after in EscapingTests.sticky {
        let escaped = HTMLText.escaped(
          "\(before)<\(after)\(before)>\(after)\(before)&\(after)\(before)\"\(after)\(before)'\(after)")
        #expect(!escaped.unicodeScalars.contains { "<>\"'".unicodeScalars.contains($0) }, "\(escaped)")
        #expect(escaped.unicodeScalars.count { $0 == "&" } == 5)
      }
    }
    let page = HTMLText.filled(Array("<p a=\"{{a}}\">{{b}}{{c}}</p>".utf8), ["a": "{{b}}\u{600}<", "b": "x\"\u{301}"])
    #expect(String(decoding: page, as: UTF8.self) == "<p a=\"{{b}}\u{600}&lt;\">x&quot;\u{301}{{c}}</p>")
  }

  @Test func `a metric's label is escaped, also next to characters that join others`() {
    for after in EscapingTests.sticky {
      #expect(PrometheusText.label("a\"\(after)b\\\(after)c\n\(after)d") == "a\\\"\(after)b\\\\\(after)c\\n\(after)d")
    }
    // Swift treats these as one character, Prometheus as two.
    #expect(PrometheusText.label("\r\n") == "\r\\n")
    #expect(PrometheusText.help("a\\\u{301}\n") == "a\\\\\u{301}\\n")
    #expect(PrometheusText.name("badChecksum{}é") == "bad_checksum___")
  }

  @Test(arguments: [
    ("/var/lib/a b", "\"-/var/lib/a b\""), ("/%h/x", "\"-/%%h/x\""), ("/a\"\u{301}\\b", "\"-/a\\\"\u{301}\\\\b\""),
    ("/a;b#c", "\"-/a;b#c\""), ("/$HOME", "\"-/$HOME\""),
  ])
  func `a path is one word in a systemd unit`(_ path: String, _ word: String) {
    #expect(UnitText.path(path, isOptional: true) == word)
  }

  @Test(arguments: [
    "/a\nExecStartPre=+/x", "/a\u{85}", "/a\u{2028}b", "a", "", "/", "//", "/a/../b", "/..", "-/a", "/\u{7f}",
  ])
  func `a path that no unit can contain is refused`(_ path: String) {
    #expect(UnitText.path(path, isOptional: true) == nil)
  }

  @Test func `an instance's name is escaped so that it cannot name another unit`() {
    #expect(UnitText.instance("ttyAMA0") == "ttyAMA0")
    #expect(UnitText.instance("a b%h/.x\n") == "a\\x20b\\x25h-.x\\x0a")
  }

  @Test func `a quoted word stays one word for the shell`() {
    #expect(ShellText.word("/etc/sensorhub/token") == "/etc/sensorhub/token")
    #expect(ShellText.word("a'\u{301} $(x)") == "'a'\\''\u{301} $(x)'")
  }

  @Test func `text for a terminal can neither move the cursor nor change the writing direction`() {
    let hostile = "a\u{1b}[2J\u{9b}1m\u{202e}b\u{2066}\u{7f}\r\u{8}\u{e000}"
    let shown = Text.printableLines("\(hostile)\n\tc")
    #expect(shown == "a\\u{1b}[2J\\u{9b}1m\\u{202e}b\\u{2066}\\u{7f}\\r\\u{8}\\u{e000}\n\tc")
    #expect(Text.printableLines("a\r\n\u{301}b") == "a\\r\n\u{301}b")
  }

  @Test func `JSON for a terminal keeps its meaning, with hidden characters escaped`() throws {
    let hostile = "a\u{9b}1m\u{202e}\u{E0001}\u{7f} é 🚀 \" \\ \n"
    var json = JSONWriter()
    json.beginObject()
    json.member("name", hostile)
    json.endObject()
    let text = String(decoding: json.bytes, as: UTF8.self)
    #expect(text.unicodeScalars.allSatisfy { !Text.isHidden($0) }, "\(text)")
    struct Named: Decodable, Equatable { var name: String }
    #expect(try JSONDecoder().decode(Named.self, from: Data(text.utf8)).name == hostile)
    // The text is from another author.
    let foreign = "{\"name\":\"a\u{9b}1m\u{202e}\u{E0001}\u{7f} é 🚀\"}"
    let shown = Text.printableJSON(foreign)
    #expect(shown.unicodeScalars.allSatisfy { !Text.isHidden($0) }, "\(shown)")
    #expect(
      try JSONDecoder().decode(Named.self, from: Data(shown.utf8))
        == JSONDecoder().decode(Named.self, from: Data(foreign.utf8)))
  }

  @Test func `XML for a terminal has its hidden characters escaped`() {
    let text = XMLText.escaped("a<\u{301}\u{1b}\u{9b}\u{202e}>")
    #expect(text == "a&lt;\u{301}&#x9b;&#x202e;&gt;")
  }

  @Test(arguments: [1e300, .infinity, -.infinity, .nan, 9.3e18, -1e300])
  func `any number of seconds can be written as text`(_ seconds: Double) {
    #expect(!Text.duration(seconds: seconds).isEmpty)
  }

  @Test(arguments: [
    "/etc/shadow", "/home/me/.ssh/id_ed25519", "/etc/sensorhub/../shadow", "relative", "/etc/sensorhubs/x", "",
  ])
  func `a board file may not name a password file in any other folder`(_ file: String) {
    #expect(SecretFile.refusal(ofBoards: file) != nil)
  }

  @Test func `a board file may name a password file in the service's folders`() {
    #expect(SecretFile.refusal(ofBoards: "/etc/sensorhub/mqtt") == nil)
    #expect(SecretFile.refusal(ofBoards: "/run/credentials/sensorhub.service/mqtt") == nil)
  }

  @Test func `a secret is one line of a file that other users cannot change`() throws {
    let folder = TemporaryFolder("secrets")
    func secret(_ text: String, mode: UInt32) -> Result<String, any Error> {
      let path = folder.path + "/secret"
      HubProcess.write(text, to: path)
      chmod(path, mode)
      return Result { String(decoding: try SecretFile.read(path, orCredential: "x")?.secret ?? [], as: UTF8.self) }
    }
    #expect(try secret(" correct horse \r\n", mode: 0o640).get() == "correct horse")
    #expect(throws: SecretFile.Failure.self) { try secret("correct horse battery", mode: 0o666).get() }
    #expect(throws: SecretFile.Failure.self) { try secret("-----BEGIN\nPRIVATE-----", mode: 0o600).get() }
    _ = secret("x", mode: 0o644)
    #expect(SecretFile.warning(of: folder.path + "/secret")?.contains("every user here can read") == true)
    _ = secret("x", mode: 0o640)
    #expect(SecretFile.warning(of: folder.path + "/secret") == nil)
  }

  @Test func `reading a secret does not block on a pipe`() {
    let folder = TemporaryFolder("pipe")
    mkfifo(folder.path + "/secret", 0o600)
    #expect(throws: SecretFile.Failure.self) { try SecretFile.read(folder.path + "/secret", orCredential: "x") }
    // A path through the descriptors does not work either.
    let detour = "/dev/fd/../../.." + folder.path + "/secret"
    #expect(throws: SecretFile.Failure.self) { try SecretFile.read(detour, orCredential: "x") }
  }

  @Test func `every port refuses a TURN client, and the ports for sentences refuse other text`() {
    #expect(ForeignProtocol.verdict(on: EscapingTests.turnRequest) == .foreign)
    let sentences = StreamKind.nmea.firstLetters
    for text in ["$GPRMC", "!AIVDM", "\\g:1-2-3*4E\\$", "\r\n\t $"] {
      #expect(ForeignProtocol.verdict(on: Array(text.utf8), textBeginsWith: sentences) == .other)
    }
    for text in ["GET / HTTP/1.1\r\n", "hello", "?WATCH", "\u{16}\u{3}\u{1}", "\u{0}", "é"] {
      #expect(ForeignProtocol.verdict(on: Array(text.utf8), textBeginsWith: sentences) == .foreign, "\(text)")
    }
    #expect(ForeignProtocol.verdict(on: Array("\r\n".utf8), textBeginsWith: sentences) == .undecided)
  }

  /// The first request of a browser for a UDP relay (RFC 8489, section 5; RFC 8656, section 7.1).
  static let turnRequest: [UInt8] =
    [0x00, 0x03, 0x00, 0x08, 0x21, 0x12, 0xA4, 0x42] + Array("Yk3bQzT8v0wP".utf8)
    + [0x00, 0x19, 0x00, 0x04, 0x11, 0x00, 0x00, 0x00]
}
