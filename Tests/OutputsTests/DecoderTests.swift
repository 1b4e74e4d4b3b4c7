import FoundationEssentials
import Outputs
import TestSupport
import Testing

struct DecoderTests {
  /// The compared members of a `TPV`.
  private struct TPV: Decodable {
    var `class`: String
    var time: String?
    var mode: Int?
    var lat, lon, altMSL, altHAE, geoidSep, speed, track, magvar: Double?
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `recordings exist, without which tests per recording would pass with no case`() {
    #expect(!SharedData.logs.isEmpty && !SharedData.binaryLogs.isEmpty)
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: SharedData.logs)
  func `decode gives the same as gpsd for a receiver's log, epoch by epoch`(_ log: String) throws {
    try compare(try #require(SharedData.folder) + "/nmea/\(log).log")
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: SharedData.binaryLogs)
  func `decode gives the same as gpsd for the log of a receiver with a binary protocol`(_ log: String) throws {
    // In this log, gpsd splits one solution in two, and gives its time to a position from inertial sensors.
    let isMixedUp = log == "ublox-neo-m8l" ? "2024-01-30T15:32:00.00" : nil
    try compare(try #require(SharedData.folder) + "/ubx/\(log).log", except: isMixedUp)
  }

  private func compare(_ path: String, except left: String? = nil) throws {
    let expected = last(SharedData.read(path + ".chk"))
    let actual = last(decode(SharedData.read(path)).output)
    for (time, reference) in expected where (reference.mode ?? 0) >= 1 && time != left {
      let ours = try #require(actual[time], "no TPV for \(time)")
      #expect(ours.mode == reference.mode, "\(time)")
      compare("lat", ours.lat, reference.lat, 2e-7, time)
      compare("lon", ours.lon, reference.lon, 2e-7, time)
      compare("altMSL", ours.altMSL, reference.altMSL, 0.06, time)
      compare("altHAE", ours.altHAE, reference.altHAE, 0.06, time)
      compare("geoidSep", ours.geoidSep, reference.geoidSep, 0.06, time)
      compare("speed", ours.speed, reference.speed, 0.006, time)
      compare("track", ours.track, reference.track, 0.06, time)
      // The variation of a receiver that does not state it comes from a model. gpsd 3.22 has a table of the model of
      // 2015, which is now wrong by up to a few degrees. The model here is that of 2025.
      compare("magvar", ours.magvar, reference.magvar, 5, time)
    }
  }

  @Test func `decode prints one TPV per epoch and counts what it read`() {
    let log = """
      $GPRMC,120000.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A*6D
      $GPGGA,120000.00,5231.0000,N,01322.0000,E,1,08,0.9,40.0,M,40.0,M,,*59
      $GPRMC,120001.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A*FF
      $GPXYZ,1*51
      """
    let (output, summary) = decode(Array(log.utf8))
    let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 1)
    #expect(summary == "sentences=3 bad_checksum=1 unknown=1 epochs=1")
  }

  @Test func `impossible values are left out and counted`() {
    let log = "$GPGGA,120000.00,5231.0000,N,01322.0000,E,1,08,0.9,999999999999999999,M,40.0,M,,\r\n"
    let (output, summary) = decode(Array(log.utf8))
    #expect(!String(decoding: output, as: UTF8.self).contains("alt"))
    #expect(summary == "sentences=1 bad_checksum=0 unknown=0 epochs=1 implausible=1")
  }

  private func decode(_ bytes: [UInt8]) -> (output: [UInt8], summary: String) {
    var decoder = GPSDDecoder()
    bytes.withUnsafeBufferPointer { decoder.decode($0) }
    decoder.finish()
    var output: [UInt8] = []
    decoder.takeOutput { output = Array($0) }
    return (output, decoder.summary)
  }

  /// Returns the last TPV with a fix for each time, or else the last one, by hundredths of a second.
  private func last(_ bytes: [UInt8]) -> [String: TPV] {
    var result: [String: TPV] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: #"{"class":"TPV""#.utf8) {
      guard let report = try? JSONDecoder().decode(TPV.self, from: Data(line)), let time = report.time else { continue }
      let key = String(time.prefix(22))
      if (report.mode ?? 0) > 1 || (result[key]?.mode ?? 0) <= 1 { result[key] = report }
    }
    return result
  }

  private func compare(_ name: String, _ ours: Double?, _ theirs: Double?, _ tolerance: Double, _ time: String) {
    guard let theirs else { return }
    guard let ours else {
      Issue.record("\(time): no \(name)")
      return
    }
    var difference = abs(ours - theirs)
    if name == "track" { difference = min(difference, 360 - difference) }
    #expect(difference <= tolerance, "\(time): \(name) \(ours), gpsd says \(theirs)")
  }
}
