import Glibc
import TestSupport
import Testing

/// A map file on the dashboard.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct TileFileTests {
  private let folder = TemporaryFolder("tiles")
  private let port = SocketClient.freePort()
  private var map: String { "\(folder.path)/map.pmtiles" }

  /// Writes a map of the whole world down to level 14 with the same blue tile everywhere: a root with one leaf, both
  /// compressed.
  private static let writer = """
    import gzip, struct, sys, zlib
    def number(value):
        out = b""
        while value > 127: out += bytes([value & 127 | 128]); value >>= 7
        return out + bytes([value])
    def directory(entries):
        out = number(len(entries)); last = 0
        for entry in entries: out += number(entry[0] - last); last = entry[0]
        for column in (1, 2): out += b"".join(number(entry[column]) for entry in entries)
        return gzip.compress(out + b"".join(number(entry[3] + 1) for entry in entries))
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = (b"\\0" + bytes([32, 64, 224]) * 256) * 256
    picture = (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 256, 256, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    leaf = directory([(0, (4 ** 15 - 1) // 3, len(picture), 0)])
    root = directory([(0, 0, len(leaf), 0)])
    text = gzip.compress(b"{}")
    at = [127, 127 + len(root), 127 + len(root) + len(text), 127 + len(root) + len(text) + len(leaf)]
    header = b"PMTiles\\3" + struct.pack("<11Q", at[0], len(root), at[1], len(text), at[2], len(leaf), at[3], len(picture), 1, 1, 1)
    header += bytes([1, 2, 1, 2, 0, 14]) + struct.pack("<4i", -1800000000, -850000000, 1800000000, 850000000) + bytes([0]) + struct.pack("<2i", 0, 0)
    open(sys.argv[1], "wb").write(header + root + text + leaf + picture)
    """

  private func open() throws -> HubProcess {
    let make = Python.program(["-c", TileFileTests.writer, map])
    #expect(make.wait() == 0, "\(make.standardError)")
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        "http: { port: \(port), tiles: \"\(map)\", attribution: \"© Some Body\" }"))
    #expect(hub.logs("dashboard on"))
    return hub
  }

  @Test func `the hub serves ranges of the tile file, and no other file`() throws {
    let hub = try open()
    func get(_ headers: [String]) -> HTTPAnswer { HTTPAnswer(port, "GET", "/tiles.pmtiles", headers) }
    let answer = get(["Range: bytes=0-6"])
    #expect(answer.status == 206 && answer.body == "PMTiles", "\(answer.head)")
    #expect(answer.head.contains("Content-Range: bytes 0-6/") && answer.head.contains("Accept-Ranges: bytes"))
    #expect(get([]).status == 400)
    #expect(get(["Range: bytes=0-1,5-6"]).status == 400)
    #expect(get(["Range: bytes=99999999-"]).status == 416)
    #expect(get(["Range: bytes=0-6", "If-Match: \"other\""]).status == 412)
    // The file in its place is not a map.
    HubProcess.write("secret", to: map)
    let refusal = get(["Range: bytes=0-3"])
    #expect(refusal.status == 404 && !refusal.body.contains("secret") && !refusal.body.contains(folder.path))
    #expect(unlink(map) == 0 && symlink("/etc/passwd", map) == 0)
    #expect(get(["Range: bytes=0-3"]).status == 404)
    #expect(hub.stop() == 0)
    let bare = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(bare.logs("dashboard on"))
    #expect(get(["Range: bytes=0-6"]).status == 404)
    #expect(bare.stop() == 0)
  }

  @Test func `the page draws a tile file without a network, and dims it at night`() throws {
    let hub = try open()
    let browser = try Browser()
    try browser.prefer(scheme: "light")
    try browser.open("http://localhost:\(port)/")
    /// Whether most of the map has colours that meet a condition.
    func isMostly(_ condition: String) throws -> Bool {
      try browser.sees(
        """
        (() => { const d = pixels(element('map'));
          let count = 0;
          for (let i = 0; i < d.length; i += 4) {
            const [red, green, blue] = [d[i], d[i + 1], d[i + 2]];
            if (\(condition)) count += 1;
          }
          return count * 8 > d.length; })()
        """)
    }
    #expect(try isMostly("red === 32 && green === 64 && blue === 224"))
    #expect(try browser.text("document.getElementById('credit').textContent") == "© Some Body")
    browser.save(as: "map-file")
    try browser.choose("theme", "dark")
    #expect(try isMostly("blue > 60 && blue < 180"))
    try browser.choose("theme", "night")
    #expect(try isMostly("blue < 60 && red < 60"))
    let strangers = try browser.log("performance").map(\.message).filter {
      $0.contains("Network.requestWillBeSent\"") && !$0.contains("\"url\":\"http://localhost:\(port)/")
        && !$0.contains("\"url\":\"data:") && !$0.contains("\"url\":\"blob:")
    }
    #expect(strangers.isEmpty)
    #expect(hub.stop() == 0)
  }

  @Test func `for a tile file that is not a map, the map shows the reason`() throws {
    let hub = try open()
    HubProcess.write("something else", to: map)
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    try browser.run(
      """
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        if (String(text).includes('north up')) window.scaleText = text;
        return draw.call(this, text, ...place);
      };
      """)
    let trouble = "map file: the map file cannot be read: it is not a PMTiles file"
    #expect(try browser.sees("window.scaleText.includes('\(trouble)')"))
    #expect(hub.stop() == 0)
  }
}
