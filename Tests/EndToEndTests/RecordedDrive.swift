import Fusion
import Glibc
import MCAP
import MonotonicTime
import Outputs
import TestSupport

/// A recording as the hub makes it, in a folder that exists as long as this value. It has two states and one position a
/// second, on a winding road northwards from 10:00:00. After a minute there is no position for 20 seconds. After
/// another minute the receiver is off for five seconds. Then follows half a minute, the last ten seconds of it by dead
/// reckoning.
final class RecordedDrive {
  /// The time 2026-11-22T10:00:00Z.
  static let start: UInt64 = 1_795_341_600_000_000_000
  /// The seconds from the start that have a position.
  static let seconds = Array(0..<60) + Array(80..<140) + Array(145..<175)

  private let temporary = TemporaryFolder("export")
  var folder: String { temporary.path }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  static func latitude(_ second: Int) -> Double { 47 + Double(second) * 2e-4 }
  static func longitude(_ second: Int) -> Double { 8 + 5e-4 * sin(Double(second) / 10) }

  /// Writes a recording, and returns its path.
  ///
  /// - Parameters:
  ///   - range: the seconds that it contains
  ///   - clockErrorSeconds: how slow the board's clock was
  ///   - receivers: the receivers whose sentences it contains
  ///   - badMessageCount: the number of invalid states
  func write(
    _ name: String = "drive.mcap", seconds range: Range<Int> = 0..<200, clockErrorSeconds: UInt64 = 0,
    receivers: [String] = ["gps"], badMessageCount: Int = 0
  ) throws -> String {
    var writer = try MCAPWriter(MCAPFileSink(path: path(name)), chunkByteCount: 20_000)
    try writer.add(MCAPMetadata(name: "board", entries: ["file": #"{ name: "Boat & <Co>", devices: {} }"#]))
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["version": "0.1.0", "started": "2026-11-22T10:00:00Z"]))
    let schema = try writer.addSchema(name: "sensorhub.State", encoding: "jsonschema", data: Array("{}".utf8))
    let states = try writer.addChannel(topic: "/state", messageEncoding: "json", schemaID: schema)
    let power = try writer.addChannel(topic: "/power", messageEncoding: "json")
    let raw = try receivers.map { try writer.addChannel(topic: "/receiver/\($0)/raw", messageEncoding: "nmea0183") }
    let logStart = RecordedDrive.start - clockErrorSeconds * 1_000_000_000
    func logTime(_ halfSecond: Int) -> UInt64 { logStart + UInt64(halfSecond) * 500_000_000 }
    for index in 0..<badMessageCount {
      try writer.append(Array("{\"mode\":\(index)".utf8), channelID: states, logTimeNanoseconds: logTime(0))
    }
    for second in RecordedDrive.seconds where range.contains(second) {
      if second == 145 {
        let event = #"{"id":"gps","kind":"receiver","power":"off","reason":"no subscribers"}"#
        try writer.append(Array(event.utf8), channelID: power, logTimeNanoseconds: logTime(2 * 141))
      }
      for (channel, receiver) in zip(raw, receivers) {
        try writer.append(
          RecordedDrive.sentence(receiver, second), channelID: channel, logTimeNanoseconds: logTime(2 * second))
      }
      for half in 2 * second...2 * second + 1 {
        try writer.append(RecordedDrive.state(half), channelID: states, logTimeNanoseconds: logTime(half))
      }
    }
    try writer.finish()
    return path(name)
  }

  static func sentence(_ receiver: String, _ second: Int) -> [UInt8] {
    Array("$GPTXT,\(receiver),\(second)*00\r\n".utf8)
  }

  /// The JSON of the state at a number of half seconds. Its position was measured at the last whole second.
  private static func state(_ halfSecond: Int) -> [UInt8] {
    let second = halfSecond / 2
    let at = MonotonicInstant(nanoseconds: Int64(halfSecond + 200) * 500_000_000)
    let measured = MonotonicInstant(nanoseconds: Int64(second + 100) * 1_000_000_000)
    var state = FusedState(at: at)
    state.mode = second < 165 ? .fused : .deadReckoning
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: latitude(second), longitudeDegrees: longitude(second), altitudeHAEMetres: 448,
        altitudeMSLMetres: 400.125, horizontalSigmaMetres: 1.5, verticalSigmaMetres: 2.5),
      at: measured, source: DeviceSet(0))
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 22, trackDegrees: 4, climbMetresPerSecond: 0.5), at: measured,
      source: DeviceSet(0))
    state.air = Dated(
      FusedState.Air(pressurePascals: 96_500, temperatureCelsius: 21.5, humidityPercent: nil), at: at,
      source: DeviceSet(3))
    var quality = FusedState.FixQuality(
      mode: 3, status: 1, satellitesUsed: 9, hdop: 0.8,
      utcNanoseconds: Int64(start) + Int64(second) * 1_000_000_000)
    quality.isTimeConfirmed = true
    state.fix = Dated(quality, at: measured, source: DeviceSet(0))
    var json = JSONWriter()
    StateReport.write(state, to: &json)
    return Array(json.bytes.dropLast())
  }
}
