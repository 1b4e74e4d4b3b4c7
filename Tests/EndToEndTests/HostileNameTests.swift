import Glibc
import MCAP
import TestSupport
import Testing

/// Malicious names in all places where people and programs see them.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct HostileNameTests {
  private let temporary = TemporaryFolder("hostile")
  private var folder: String { temporary.path }
  /// A browser reads a tag where Swift reads one character.
  private static let tag = "x\u{600}<img id=owned src=x onerror=alert(1)>"

  /// A recording of a receiver, with an attacker's board file.
  private func recording(_ board: String) throws -> String {
    let path = folder + "/recording.mcap"
    var writer = try MCAPWriter(try MCAPFileSink(path: path))
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["format": "3"]))
    try writer.add(MCAPMetadata(name: "board", entries: ["file": board]))
    let channel = try writer.addChannel(topic: "/receiver/gps/raw", messageEncoding: "nmea")
    for second in 0..<30 {
      let body = "GPRMC,1000\(second < 10 ? "0" : "")\(second).00,A,5231.000,N,01323.000,E,0.0,0.0,281126,,,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      let bytes = Array("$\(body)*\(sum.count == 1 ? "0" : "")\(sum)\r\n".utf8)
      let time = 1_795_860_000_000_000_000 + UInt64(second) * 1_000_000_000
      try bytes.withUnsafeBytes { data throws in
        try writer.append(data, channelID: channel, logTimeNanoseconds: time)
      }
    }
    try writer.finish()
    return path
  }

  private func replay(_ board: String) throws -> Program {
    Program(["replay", try recording(board), "--stay", "--socket", folder + "/hub.sock"])
  }

  private static let gps = "devices: { gps: { driver: \"nmea\", port: \"x\" } }"

  @Test func `a browser shows a name from a recording as text`() throws {
    let port = SocketClient.freePort()
    let program = try replay("{ name: \"\(HostileNameTests.tag)\", \(HostileNameTests.gps), http: { port: \(port) } }")
    #expect(program.logs("dashboard on"), "\(program.standardError)")
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    #expect(try browser.text("document.querySelector('h1').textContent") == HostileNameTests.tag)
    #expect(try browser.text("document.querySelectorAll('#owned, h1 *, img').length") == "0")
    #expect(try browser.text("document.title").hasPrefix(HostileNameTests.tag))
    program.send(SIGTERM)
    program.wait()
  }

  @Test func `a replayed recording opens no port to other machines, reads no file and redirects no browser`() throws {
    let port = SocketClient.freePort()
    let nmea = SocketClient.freePort()
    let program = try replay(
      """
      { name: "x", \(HostileNameTests.gps), gpsd: { port: \(SocketClient.freePort()), address: "0.0.0.0", allow: ["0.0.0.0/0"] },
        nmea: { port: \(nmea), address: "0.0.0.0", allow: ["0.0.0.0/0"] },
        http: { port: \(port), address: "0.0.0.0", tokenFile: "/etc/machine-id", hosts: ["evil.example"],
          tiles: "https://evil.example/{z}/{x}/{y}.png", attribution: "evil" } }
      """)
    #expect(program.logs("dashboard on"), "\(program.standardError)")
    let page = HTTPAnswer(port, "GET", "/")
    #expect(page.status == 200 && !page.head.contains("evil") && !page.body.contains("evil"), "\(page.head)")
    #expect(HTTPAnswer(port, "GET", "/", host: "evil.example:\(port)").status == 421)
    #expect(program.logs("NMEA 0183 on 127.0.0.1:\(nmea), open to this machine\n"))
    #expect(!program.standardError.contains("0.0.0.0"), "\(program.standardError)")
    program.send(SIGTERM)
    program.wait()
  }

  @Test func `a recording's board file changes nothing in the page's content security policy`() throws {
    let program = try replay(
      """
      { name: "x", \(HostileNameTests.gps), http: { port: \(SocketClient.freePort()),
          tiles: "https://t; script-src 'unsafe-inline'/{z}/{x}/{y}.png" } }
      """)
    #expect(program.wait() == 65)
    #expect(program.standardError.contains("'http.tiles' must be an address"), "\(program.standardError)")
  }

  @Test func `text from a recording cannot move the terminal's cursor`() throws {
    let path = folder + "/recording.mcap"
    var writer = try MCAPWriter(try MCAPFileSink(path: path))
    try writer.add(MCAPMetadata(name: "board", entries: ["file": "{ name: \"x\", \(HostileNameTests.gps) }"]))
    for name in ["gps\u{1b}[2J\u{9b}1m\u{202e}", "b"] {
      let channel = try writer.addChannel(topic: "/receiver/\(name)/raw", messageEncoding: "nmea")
      let bytes = Array("$GPRMC,,V,,,,,,,,,,N*53\r\n".utf8)
      try bytes.withUnsafeBytes { data throws in
        try writer.append(data, channelID: channel, logTimeNanoseconds: 1_795_860_000_000_000_000)
      }
    }
    try writer.finish()
    for arguments in [
      ["export", path, "--format", "nmea"], ["export", path, "--format", "nmea", "--device", "c"],
      ["replay", path, "--rate", "max"], ["info", path], ["info", "--json", path],
    ] {
      let program = Program(arguments)
      program.wait()
      let said = program.standardError + program.standardOutput
      #expect(
        said.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control },
        "\(arguments): \(said.debugDescription)")
      #expect(!said.contains("\u{202e}"), "\(arguments)")
    }
  }

  @Test func `control characters in a file name are printed escaped`() {
    let program = Program(["check", folder + "/\u{1b}[2J\u{9b}1m.json5"])
    program.wait()
    #expect(program.standardError.contains("\\u{1b}[2J\\u{9b}1m.json5"), "\(program.standardError.debugDescription)")
  }

  @Test(arguments: [["watch", "--rate", "\u{1b}[2J"], ["export", "--format=\u{1b}[2J", "x"], ["\u{1b}[2J"]])
  func `control characters in an argument are printed escaped`(_ arguments: [String]) {
    let program = Program(arguments)
    #expect(program.wait() == 64, "\(program.standardError.debugDescription)")
    #expect(program.standardError.contains("\\u{1b}[2J"), "\(program.standardError.debugDescription)")
    #expect(!program.standardError.contains("\u{1b}"))
  }
}
