import Publishing

@testable import Hub
@testable import Outputs

/// Names from a board file in whole documents: pages, metrics, the list of devices, a track. A document has the same
/// parts for any names.
enum DocumentTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    guard let board = try? Board(json5: Array(input), file: "board") else { return }
    for page in [EmbeddedFile.dashboardHTML, EmbeddedFile.fleetHTML] { requirePage(page, board) }
    if let origin = board.http?.tiles.flatMap(TileOrigin.init(of:)) {
      require("\(origin)".utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x3B && $0 != 0x2C }, "an origin \(origin)")
    }
    requireTrack(board.name)
    let host = HubHost(Hub(board: board, hardware: NoHardware()), version: "1")
    requireMetrics(MetricsReport.text(host))
    var json = JSONWriter()
    DevicesReport.write(host.hub.devices, at: host.now, to: &json)
    requireJSONLines(json.bytes)
    require(
      String(decoding: json.bytes, as: UTF8.self).unicodeScalars.allSatisfy { $0 == "\n" || !Text.isHidden($0) },
      "a list of devices in which something hides")
    host.hub.shutDown()
  }

  // MARK: Pages

  private static func requirePage(_ page: [UInt8], _ board: Board) {
    func filled(_ names: [String]) -> [UInt8] {
      HTMLText.filled(
        page,
        [
          "board": names[0], "tiles": names[1], "attribution": names[2], "records": "yes", "replay": "",
          "fences": "yes", "version": names[0],
          "broker": names[0], "topic": names[0],
        ])
    }
    let texts = filled([board.name, board.http?.tiles ?? "", board.http?.credit ?? ""])
    require(tags(texts) == tags(filled(["a", "b", "c"])), "a page with other tags")
  }

  /// The tags of a page, without the values of their attributes: `<p class=>`.
  private static func tags(_ page: [UInt8]) -> [[UInt8]] {
    var tags: [[UInt8]] = []
    var tag: [UInt8]?
    var quote: UInt8?
    for byte in page {
      if let present = quote {
        if byte == present { quote = nil }
      } else if tag != nil {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: ">"):
          tags.append(tag ?? [])
          tag = nil
        default: tag?.append(byte)
        }
      } else if byte == UInt8(ascii: "<") {
        tag = []
      }
    }
    require(tag == nil, "a page that ends in a tag")
    return tags
  }

  // MARK: A track

  private final class Bytes: TrackOutput {
    var bytes: [UInt8] = []
    func write(_ bytes: UnsafeRawBufferPointer) throws(Never) { self.bytes += bytes }
  }

  private static func requireTrack(_ name: String) {
    func track(_ name: String) -> [UInt8] {
      let output = Bytes()
      var gpx = GPXWriter(output, name: name, version: "1")
      gpx.finish()
      return output.bytes
    }
    require(tags(track(name)) == tags(track("a")), "a track with other elements")
  }

  // MARK: Metrics

  /// Checks the rules of the format: each line is a comment, or consists of a name, labels and a number.
  private static func requireMetrics(_ text: String) {
    require(text.utf8.last == UInt8(ascii: "\n"), "metrics that end in the middle of a line")
    for line in text.utf8.dropLast().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      if line.first == UInt8(ascii: "#") { continue }
      var rest = line[...]
      let name = rest.prefix { $0 == 0x5F || 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 }
      require(name.starts(with: "sensorhub_".utf8), "no metric: \(String(decoding: line, as: UTF8.self))")
      rest = rest.dropFirst(name.count)
      if rest.first == UInt8(ascii: "{") { rest = behindLabels(rest) }
      require(
        rest.first == UInt8(ascii: " ") && Double(String(decoding: rest.dropFirst(), as: UTF8.self)) != nil,
        "no number: \(String(decoding: line, as: UTF8.self))")
    }
  }

  private static func behindLabels(_ labels: Substring.UTF8View) -> Substring.UTF8View {
    var isQuoted = false
    var isEscaped = false
    for index in labels.indices {
      let byte = labels[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if !isQuoted, byte == UInt8(ascii: "}") {
        return labels[labels.index(after: index)...]
      }
    }
    fatalError("labels without an end: \(String(decoding: labels, as: UTF8.self))")
  }
}
