import Glibc
import MCAP
import NMEA

@testable import Recording

/// Segments as a hub leaves them, with two states a second, numbered in the order of writing.
final class MadeSegments {
  /// The time 2026-11-22T10:00:00Z.
  static let start: Int64 = 1_795_341_600_000_000_000

  let folder = RecordingFolder()
  private var stateCount = 0

  init() { precondition(mkdir(folder.path, 0o755) == 0) }

  var catalogue: SegmentCatalogue { SegmentCatalogue(path: folder.path) }

  static func instant(_ seconds: Double) -> UTCTime { UTCTime(nanosecondsSince1970: start + Int64(seconds * 1e9)) }

  static func times(_ from: Double, _ to: Double) -> Range<UTCTime> { instant(from)..<instant(to) }

  struct Power {
    var at: Double
    var power: String
  }

  /// Writes a segment, and returns its name.
  ///
  /// - Parameters:
  ///   - seconds: the seconds from the start, by the true time
  ///   - started: identifies segments of one recording
  ///   - clockErrorSeconds: how slow the board's clock was
  ///   - isDated: whether the receiver states the time
  func write(
    _ name: String, seconds: Range<Int>, started: String = "2026-11-22T10:00:00Z", power: [Power] = [],
    clockErrorSeconds: Int64 = 0, isDated: Bool = true
  ) throws -> String {
    let name = "sensorhub-20261122T\(name).mcap"
    var writer = try begin(name, started)
    func logTime(_ seconds: Double) -> UInt64 {
      UInt64(MadeSegments.instant(seconds).nanosecondsSince1970 - clockErrorSeconds * 1_000_000_000)
    }
    for half in seconds.lowerBound * 2..<seconds.upperBound * 2 {
      let second = Double(half) / 2
      for event in power where event.at >= second && event.at < second + 0.5 {
        let text = #"{"id":"gps","kind":"receiver","power":"\#(event.power)","reason":"test","holders":["web"]}"#
        try writer.append(Array(text.utf8), channelID: 2, logTimeNanoseconds: logTime(event.at))
      }
      try writer.append(state(second, isDated: isDated), channelID: 1, logTimeNanoseconds: logTime(second))
    }
    try writer.finish()
    return name
  }

  func begin(_ name: String, _ started: String) throws -> MCAPWriter<MCAPFileSink> {
    var writer = try MCAPWriter(MCAPFileSink(path: "\(folder.path)/\(name)"), chunkByteCount: 4000)
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["started": started]))
    _ = try writer.addChannel(topic: "/state", messageEncoding: "json")
    _ = try writer.addChannel(topic: "/power", messageEncoding: "json")
    return writer
  }

  func state(_ second: Double, isDated: Bool = true) -> [UInt8] {
    defer { stateCount += 1 }
    let time = isDated ? #""time":"\#(UTCText.make(MadeSegments.instant(second)))","timeConfirmed":true,"# : ""
    return Array(
      (#"{"class":"STATE","mode":"fused",\#(time)"monotonic":\#(second + 100),"#
        + #""position":{"lat":\#(47 + second * 1e-5),"lon":8,"age":0.0,"source":"gps"},"number":\#(stateCount)}"#).utf8)
  }

  /// Returns the numbers of the states in some reports.
  static func numbers(_ reports: [[UInt8]]) -> [Int] {
    reports.compactMap { report in
      Int(String(decoding: report, as: UTF8.self).split(separator: #""number":"#).last?.dropLast() ?? "")
    }
  }
}
