import CLinux
import Glibc
import MCAP
import TestSupport

/// A recorded segment of the last hours, in a folder that exists as long as this value. From two hours until half an
/// hour ago the receiver was on, with a position every five seconds. Before that it was off.
final class RecordedDay {
  static let segment = "sensorhub-20200101T000000Z-001.mcap"

  private let folder = TemporaryFolder("day")
  var path: String { folder.path }

  /// - Parameter part: what each state contains besides its position: `"velocity":{…}`
  func write(adding part: String = "") throws {
    let now = UInt64(clamping: clinux_realtime_ns())
    func ago(_ seconds: Int) -> UInt64 { now - UInt64(seconds) * 1_000_000_000 }
    var writer = try MCAPWriter(MCAPFileSink(path: "\(path)/\(RecordedDay.segment)"), chunkByteCount: 20_000)
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["version": "0.1.0", "started": "before"]))
    let states = try writer.addChannel(topic: "/state", messageEncoding: "json")
    let power = try writer.addChannel(topic: "/power", messageEncoding: "json")
    func note(_ word: String, _ seconds: Int) throws {
      let text = #"{"id":"gps","kind":"receiver","power":"\#(word)","reason":"test","holders":[]}"#
      try writer.append(Array(text.utf8), channelID: power, logTimeNanoseconds: ago(seconds))
    }
    try note("off", 4 * 3600)
    try note("tracking", 2 * 3600)
    for seconds in stride(from: 7200, to: 1800, by: -5) {
      let text =
        #"{"class":"STATE","mode":"gnss","monotonic":\#(10_000 - seconds),"position":{"lat":52.51,"#
        + #""lon":\#(13.377 - Double(seconds) * 2e-6),"age":0.0,"source":"gps"},"fix":{"mode":3,"status":1}"#
        + (part.isEmpty ? "}" : ",\(part)}")
      try writer.append(Array(text.utf8), channelID: states, logTimeNanoseconds: ago(seconds))
    }
    try note("off", 1800)
    try writer.finish()
  }
}
