import FoundationEssentials
import Fusion
import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

/// `sensorhub info` and `sensorhub export` on recordings.
@Suite(.timeLimit(.minutes(10)))
struct ExportTests {
  private struct Feature: Decodable {
    struct Geometry: Decodable {
      var type: String
      var coordinates: [[[Double]]]
    }
    struct Properties: Decodable {
      var name: String
      var times: [[String]]
      var sigmas: [[Double?]]
    }
    var type: String
    var geometry: Geometry
    var properties: Properties
  }

  private func export(_ arguments: [String], expecting code: Int32 = 0) -> Program {
    let program = Program(["export"] + arguments)
    #expect(program.wait() == code, "\(program.standardError)")
    return program
  }

  private func feature(_ arguments: [String]) throws -> Feature {
    let text = export(arguments + ["--format", "geojson"]).standardOutput
    return try JSONDecoder().decode(Feature.self, from: Data(text.utf8))
  }

  /// The cells of a table by row, including the heading.
  private func rows(_ text: String) -> [[Substring]] {
    text.split(whereSeparator: \.isNewline).map { $0.split(separator: ",", omittingEmptySubsequences: false) }
  }

  private func times(_ gpx: String) -> [Substring] {
    gpx.split(separator: "<trkpt ").dropFirst().compactMap { point in
      point.split(separator: "<time>").last?.split(separator: "</time>").first
    }
  }

  // MARK: Tracks

  @Test func `all export formats have the same points in the same segments, and each position once`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    let gpx = export([path, "--format", "gpx"]).standardOutput
    let segments = gpx.split(separator: "<trkseg>").dropFirst().map { $0.split(separator: "<trkpt ").count - 1 }
    #expect(segments == [60, 60, 30])
    let kml = export([path, "--format", "kml"]).standardOutput
    let tracks = kml.split(separator: "<gx:Track>").dropFirst()
    for element in ["<gx:coord>", "<when>"] {
      #expect(tracks.map { $0.split(separator: element).count - 1 } == [60, 60, 30])
    }
    let feature = try feature([path])
    #expect(feature.type == "Feature" && feature.geometry.type == "MultiLineString")
    #expect(feature.geometry.coordinates.map(\.count) == [60, 60, 30])
    #expect(feature.properties.times.map(\.count) == [60, 60, 30])
    #expect(feature.properties.sigmas.map(\.count) == [60, 60, 30])
    #expect(feature.properties.name == "Boat & <Co>")
    // The coordinates are longitude, latitude and height above the ellipsoid.
    let first = try #require(feature.geometry.coordinates.first?.first)
    #expect(first == [8, 47, 448])
    let table = rows(export([path, "--format", "csv"]).standardOutput)
    #expect(table.count == 301)
    #expect(table.dropFirst().count { !$0[2].isEmpty } == 150)
    #expect(times(gpx) == feature.properties.times.joined().map { Substring($0) })
  }

  @Test func `the output file's extension selects the format`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    _ = export([path, "--output", drive.path("tour.gpx")])
    let text = String(decoding: SharedData.read(drive.path("tour.gpx")), as: UTF8.self)
    #expect(text.contains("<trkseg>"))
    let nothing = export([path, "--output", drive.path("tour")], expecting: 64)
    #expect(nothing.standardError.contains("give the format with --format"), "\(nothing.standardError)")
  }

  @Test func `an exported table has only the known values, under their names`() throws {
    let drive = RecordedDrive()
    let text = export([try drive.write(), "--format", "csv"]).standardOutput
    #expect(text.utf8.count { $0 == 13 } == 301 && text.utf8.count { $0 == 10 } == 301)
    let table = rows(text)
    #expect(
      table[0].joined(separator: ",")
        == "time,mode,lat,lon,alt_msl,sigma_h,sigma_v,speed,track,climb,roll,pitch,heading,heading_sigma,"
        + "pressure,temperature,humidity,volts,amperes,position_age")
    #expect(table.allSatisfy { $0.count == table[0].count })
    #expect(
      table[1].joined(separator: ",")
        == "2026-11-22T10:00:00.000Z,fused,47.000000000,8.000000000,400.125,1.500,2.500,22.000,4.00,0.500,,,,,"
        + "96500.00,21.50,,,,0.000")
    // The second state has no new position.
    #expect(table[2].joined(separator: ",").hasPrefix("2026-11-22T10:00:00.500Z,fused,,,,,,22.000,"))
  }

  @Test func `a position by dead reckoning is not a fix in GPX, and is marked`() throws {
    let drive = RecordedDrive()
    let gpx = export([try drive.write(), "--format", "gpx"]).standardOutput
    let points = gpx.split(separator: "<trkpt ").dropFirst()
    #expect(points.count { $0.contains("<fix>3d</fix><sat>9</sat><hdop>0.80</hdop></trkpt>") } == 140)
    let mark =
      "<fix>none</fix><extensions><sensorhub:mode>deadReckoning</sensorhub:mode>"
      + "<sensorhub:sigma>1.500</sensorhub:sigma></extensions></trkpt>"
    #expect(points.count { $0.contains(mark) } == 10)
    #expect(!gpx.contains("<fix>dr"))
    #expect(gpx.contains("<name>Boat &amp; &lt;Co&gt;</name>"))
    #expect(
      points.first?.hasPrefix(
        "lat=\"47.000000000\" lon=\"8.000000000\"><ele>400.125</ele><time>2026-11-22T10:00:00.000Z</time>") == true)
  }

  @Test(arguments: ["gpx", "kml"])
  func `XML tags are closed in the right order`(_ format: String) throws {
    let drive = RecordedDrive()
    let text = export([try drive.write(), "--format", format]).standardOutput
    var open: [Substring] = []
    var count = 0
    for piece in text.split(separator: "<") {
      let tag = try #require(piece.split(separator: ">", omittingEmptySubsequences: false).first)
      if tag.hasPrefix("?") { continue }
      if tag.hasPrefix("/") {
        #expect(open.popLast() == tag.dropFirst())
      } else if !tag.hasSuffix("/") {
        open.append(tag.prefix { !$0.isWhitespace })
        count += 1
      }
    }
    #expect(open.isEmpty && count > 500)
    #expect(text.hasPrefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<\(format) "))
  }

  @Test(arguments: ["gpx", "kml"])
  func `xmllint accepts an exported track`(_ format: String) throws {
    let drive = RecordedDrive()
    let output = drive.path("track.\(format)")
    _ = export([try drive.write(), "--format", format, "--output", output])
    let xmllint = Program(["--noout", output], path: "/usr/bin/xmllint")
    #expect(xmllint.wait() == 0, "\(xmllint.standardError)")
  }

  @Test(arguments: ["gpx", "kml"])
  func `gpsbabel finds all points of an exported track`(_ format: String) throws {
    let drive = RecordedDrive()
    let output = drive.path("track.\(format)")
    _ = export([try drive.write(), "--format", format, "--output", output])
    let gpsbabel = Program(
      ["-t", "-i", format, "-f", output, "-o", "unicsv", "-F", "-"], path: "/usr/bin/gpsbabel")
    #expect(gpsbabel.wait() == 0, "\(gpsbabel.standardError)")
    // The lines end as the RFC requires, and the first one is the header.
    let lines = gpsbabel.standardOutput.split(whereSeparator: \.isNewline)
    #expect(lines.count == 151, "\(lines.prefix(3))")
  }

  // MARK: Selection

  @Test(arguments: [
    ["--from", "10:00:30", "--to", "10:00:40"],
    ["--from", "2026-11-22T10:00:30Z", "--to", "2026-11-22T10:00:40Z"],
  ])
  func `a time range selects its points, even if the board's clock was wrong`(_ range: [String]) throws {
    let drive = RecordedDrive()
    for slow in [0, 7200] as [UInt64] {
      let path = try drive.write(clockErrorSeconds: slow)
      let taken = times(export([path, "--format", "gpx"] + range).standardOutput)
      #expect(taken.count == 10)
      #expect(taken.first == "2026-11-22T10:00:30.000Z" && taken.last == "2026-11-22T10:00:39.000Z")
    }
  }

  @Test func `a time range may have only a start or only an end`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    #expect(times(export([path, "--format", "gpx", "--from", "10:02"]).standardOutput).count == 50)
    #expect(times(export([path, "--format", "gpx", "--to", "10:00:30"]).standardOutput).count == 30)
  }

  @Test func `an interval of ten seconds selects every tenth point`() throws {
    let drive = RecordedDrive()
    let path = try drive.write(seconds: 0..<60)
    let taken = times(export([path, "--format", "gpx", "--every", "10"]).standardOutput)
    #expect(taken == (0..<6).map { "2026-11-22T10:00:\($0)0.000Z" })
    // There are as many rows, and all have a position.
    let table = rows(export([path, "--format", "csv", "--every", "10"]).standardOutput).dropFirst()
    #expect(table.count == 6 && table.allSatisfy { !$0[2].isEmpty })
  }

  @Test(arguments: [1.0, 5, 20])
  func `points that simplification leaves out are near the simplified line`(_ tolerance: Double) throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    let whole = try feature([path]).geometry.coordinates
    let simple = try feature([path, "--simplify", "\(tolerance)"]).geometry.coordinates
    #expect(simple.map(\.first) == whole.map(\.first) && simple.map(\.last) == whole.map(\.last))
    #expect(simple.joined().count < whole.joined().count / 2)
    var worst = 0.0
    for (points, line) in zip(whole, simple) {
      for point in points {
        let distances = zip(line, line.dropFirst()).map { distance(point, $0, $1) }
        worst = max(worst, distances.min() ?? .infinity)
      }
    }
    #expect(worst <= tolerance * 1.001, "\(worst)")
    // The export uses the tolerance: it leaves out every point that the line does not need.
    #expect(worst > tolerance / 20, "\(worst)")
  }

  /// Metres from a place to the line between two others.
  private func distance(_ point: [Double], _ first: [Double], _ last: [Double]) -> Double {
    let origin = place(first)
    let (to, end) = (place(point).offset(from: origin), place(last).offset(from: origin))
    let length = end.x * end.x + end.y * end.y
    let along = length > 0 ? max(0, min(1, (to.x * end.x + to.y * end.y) / length)) : 0
    return hypot(to.x - along * end.x, to.y - along * end.y)
  }

  private func place(_ coordinates: [Double]) -> GeodeticPosition {
    GeodeticPosition(latitudeDegrees: coordinates[1], longitudeDegrees: coordinates[0], altitude: 0)
  }

  @Test func `segments are read in the order of their times, and do not split the track`() throws {
    let drive = RecordedDrive()
    _ = try drive.write("b.mcap", seconds: 0..<30)
    _ = try drive.write("a.mcap", seconds: 30..<60)
    let gpx = export([drive.folder, "--format", "gpx"]).standardOutput
    #expect(gpx.split(separator: "<trkseg>").count == 2)
    let taken = times(gpx)
    #expect(taken.count == 60 && taken == taken.sorted())
  }

  @Test func `segments of a board whose clock went back are read in the order of their names`() throws {
    let drive = RecordedDrive()
    _ = try drive.write("sensorhub-20261122T110000Z-001.mcap", seconds: 30..<60)
    _ = try drive.write("sensorhub-20261122T110000Z-002.mcap", seconds: 0..<30)
    let expected = [30..<60, 0..<30].flatMap { $0.flatMap { RecordedDrive.sentence("gps", $0) } }
    #expect(Array(export([drive.folder, "--format", "nmea"]).standardOutput.utf8) == expected)
  }

  // MARK: Sentences, and a file of its own

  @Test func `sentences are exported as the receiver sent them, and one of several receivers must be chosen`() throws {
    let drive = RecordedDrive()
    let expected = RecordedDrive.seconds.flatMap { RecordedDrive.sentence("gps", $0) }
    let one = try drive.write()
    #expect(Array(export([one, "--format", "nmea"]).standardOutput.utf8) == expected)
    let two = try drive.write("two.mcap", receivers: ["roof", "gps"])
    #expect(export([two, "--format", "nmea"], expecting: 65).standardError.contains("several receivers: gps, roof"))
    #expect(Array(export([two, "--format", "nmea", "--device", "gps"]).standardOutput.utf8) == expected)
    let unknown = export([two, "--format", "nmea", "--device", "sonar"], expecting: 65)
    #expect(unknown.standardError.contains("next: valid ones are gps, roof"))
  }

  @Test func `a range across two files becomes one complete file with the metadata of both`() throws {
    let drive = RecordedDrive()
    let files = [try drive.write("a.mcap", seconds: 0..<40), try drive.write("b.mcap", seconds: 40..<60)]
    let output = drive.path("part.mcap")
    _ = export(files + ["--format", "mcap", "--from", "10:00:30", "--to", "10:00:50", "--output", output])
    let reader = try MCAPReader(path: output)
    try reader.check()
    #expect(reader.damage == nil && reader.isIndexed)
    // Each second has two states and one piece of the receiver's output.
    #expect(reader.summary.statistics?.messageCount == 60)
    #expect(reader.summary.channels.values.map(\.topic).sorted() == ["/receiver/gps/raw", "/state"])
    #expect(reader.summary.schemas.values.map(\.name) == ["sensorhub.State"])
    #expect(reader.summary.metadata.map(\.name).sorted() == ["board", "sensorhub"])
    #expect(reader.summary.statistics?.startTimeNanoseconds == RecordedDrive.start + 30_000_000_000)
    // The file has the contents of both recordings.
    let again = times(export([output, "--format", "gpx"]).standardOutput)
    #expect(again.count == 20 && again.first == "2026-11-22T10:00:30.000Z")
  }

  @Test
  func `a compressed copy contains all of the recording, and exports to the same output`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    let output = drive.path("small.mcap")
    _ = export([path, "--format", "mcap", "--compress", "zstd", "--output", output])
    let reader = try MCAPReader(path: output)
    try reader.check()
    #expect(Set(reader.summary.chunks.map(\.compression)) == ["zstd"])
    #expect(try Files.bytes(of: output).count * 2 < Files.bytes(of: path).count)
    for format in ["gpx", "csv", "nmea"] {
      #expect(
        export([output, "--format", format]).standardOutput == export([path, "--format", format]).standardOutput)
    }
  }

  // MARK: Damaged or missing files

  @Test func `the name of a file cannot look like a line of the program`() throws {
    let drive = RecordedDrive()
    _ = try drive.write("a\n  next: run this.mcap")
    let other = drive.path("b\n  next: run this.mcap")
    HubProcess.write("no recording", to: other)
    for command in [["info", drive.folder], ["export", drive.folder, "--format", "csv"]] {
      let program = Program(command)
      #expect(program.wait() == 0, "\(program.standardError)")
      let text = program.standardError + (command[0] == "info" ? program.standardOutput : "")
      #expect(text.contains("b\\n  next: run this.mcap' is not an MCAP file"), "\(text)")
      #expect(!text.contains("\n  next: run this"), "\(text)")
    }
    for command in ["replay", "decode"] {
      let program = Program([command, other])
      #expect(program.wait() == 65)
      #expect(!program.standardError.contains("\n  next: run this"), "\(program.standardError)")
    }
  }

  @Test func `export reads the complete part of a truncated file, and reports the truncation`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    let bytes = try Files.bytes(of: path)
    HubProcess.write(Array(bytes.prefix(bytes.count * 6 / 10)), to: path)
    let program = export([path, "--format", "gpx"])
    let count = times(program.standardOutput).count
    #expect((30..<130).contains(count), "\(count)")
    #expect(program.standardError.contains("incomplete: a hub is writing it, or it was cut"))
    let info = Program(["info", path])
    #expect(info.wait() == 0)
    #expect(info.standardOutput.contains("incomplete: a hub is writing it, or it was cut"))
    // The folder has no running hub.
    #expect(info.standardOutput.contains("export --format mcap writes a complete file"))
  }

  @Test func `messages that are not states are counted and ignored`() throws {
    let drive = RecordedDrive()
    let program = export([try drive.write(badMessageCount: 3), "--format", "gpx"])
    #expect(times(program.standardOutput).count == 150)
    #expect(program.standardError == "bad_messages=3 bad_chunks=0\n")
  }

  @Test func `a damaged chunk is counted, and the other chunks are read`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    var bytes = try Files.bytes(of: path)
    let chunk = try #require(try MCAPReader(path: path).summary.chunks.dropFirst().first)
    bytes[Int(chunk.offset + chunk.byteCount) - 10] ^= 0xFF
    HubProcess.write(bytes, to: path)
    let program = export([path, "--format", "gpx"])
    #expect((60..<150).contains(times(program.standardOutput).count))
    #expect(program.standardError == "bad_messages=0 bad_chunks=1\n")
  }

  @Test(arguments: [
    (["/nowhere.mcap", "--format", "gpx"], 66, "give a recording's path"),
    (["/etc/passwd", "--format", "gpx"], 65, "next: give a recording, such as sensorhub-"),
    (["/proc/self", "--format", "gpx"], 66, "the names of recordings must end in .mcap"),
    (["/etc/passwd"], 64, "--format"),
    (["--format", "gpx"], 64, "file"),
    (["/etc/passwd", "--format", "gpx", "--from", "tomorrow"], 64, "--from"),
    (["/etc/passwd", "--format", "gpx", "--to", "tomorrow"], 64, "2026-11-22T11:00:00+01:00, 2026-11-22 for a day"),
    (["/etc/passwd", "--format", "gpx", "--from", "2026-02-30T10:00:00Z"], 64, "--from"),
    (["/etc/passwd", "--format", "nmea", "--simplify", "5"], 64, "--simplify is for gpx"),
    (["/etc/passwd", "--format", "csv", "--every", "0"], 64, "--every must be"),
    (["/etc/passwd", "--format", "gpx", "--device", "gps"], 64, "--device is for nmea"),
    (["/etc/passwd", "--format", "gpx", "--compress", "zstd"], 64, "--compress is for mcap"),
    (["/etc/passwd", "--format", "mcap", "--compress", "gzip"], 64, "--compress"),
  ])
  func `export reports a mistake with the next step`(_ arguments: [String], _ code: Int32, _ text: String) {
    let program = export(arguments, expecting: code)
    #expect(program.standardError.contains(text), "\(program.standardError)")
    #expect(program.standardOutput.isEmpty)
  }

  @Test func `export leaves no file if there is nothing to export`() throws {
    let drive = RecordedDrive()
    let path = try drive.write(receivers: [])
    let output = drive.path("nothing")
    let later = export([path, "--format", "gpx", "--from", "11:00", "--output", output], expecting: 65)
    #expect(later.standardError.contains("no position in the recording between --from and --to"))
    let none = export([path, "--format", "nmea", "--output", output], expecting: 65)
    #expect(none.standardError.contains("next: sensorhub info lists what the recording contains"))
    let turned = export(
      [path, "--format", "csv", "--from", "10:02", "--to", "10:01", "--output", output], expecting: 65)
    #expect(turned.standardError.contains("the recording's first day, 2026-11-22"))
    #expect(Files.names(in: drive.folder) == ["drive.mcap"])
  }

  @Test func `export replaces an existing file only if told to`() throws {
    let drive = RecordedDrive()
    let path = try drive.write()
    let output = drive.path("track.gpx")
    HubProcess.write("mine", to: output)
    let refused = export([path, "--format", "gpx", "--output", output], expecting: 66)
    #expect(refused.standardError.contains("replace this one with --force"))
    #expect(try Files.bytes(of: output) == Array("mine".utf8))
    // A failed export has replaced nothing.
    _ = export([path, "--format", "gpx", "--from", "11:00", "--output", output, "--force"], expecting: 65)
    #expect(try Files.bytes(of: output) == Array("mine".utf8))
    _ = export([path, "--format", "gpx", "--output", output, "--force"])
    let text = String(decoding: try Files.bytes(of: output), as: UTF8.self)
    #expect(text == export([path, "--format", "gpx"]).standardOutput)
    #expect(Files.names(in: drive.folder) == ["drive.mcap", "track.gpx"])
    // The read files stay, unless the new file contains all of them.
    let bytes = try Files.bytes(of: path)
    for arguments in [["--format", "csv"], ["--format", "mcap", "--to", "10:01"]] {
      let lost = export([path] + arguments + ["--output", path, "--force"], expecting: 66)
      #expect(lost.standardError.contains("'\(path)' is the file that is being read\n  next: name another file"))
    }
    #expect(try Files.bytes(of: path) == bytes)
    // The source itself may be replaced, because it is read to its end first.
    _ = export([path, "--format", "mcap", "--output", path, "--force"])
    #expect(times(export([path, "--format", "gpx"]).standardOutput).count == 150)
  }

  // MARK: info

  private struct Contents: Decodable {
    struct Channel: Decodable {
      var topic: String
      var messages: Int
      var rateHz: Double?
      var longestPauseSeconds: Double?
      var pauses: Int?
    }
    struct File: Decodable {
      var path: String
      var from, to: String
      var durationSeconds: Double
      var bytes, messages: Int
      var whole: Bool
      var version, board: String
      var clockCorrectionSeconds: Double
      var channels: [Channel]
    }
    struct All: Decodable {
      var messages: Int
      var from, to: String
      var channels: [Channel]
    }
    var files: [File]
    var all: All
  }

  @Test func `info counts messages and finds pauses`() throws {
    let drive = RecordedDrive()
    _ = try drive.write("1.mcap", seconds: 0..<100)
    _ = try drive.write("2.mcap", seconds: 100..<200, clockErrorSeconds: 3600)
    let program = Program(["info", drive.folder, "--json"])
    #expect(program.wait() == 0, "\(program.standardError)")
    let contents = try JSONDecoder().decode(Contents.self, from: Data(program.standardOutput.utf8))
    #expect(contents.files.map(\.path) == [drive.path("2.mcap"), drive.path("1.mcap")])
    let first = try #require(contents.files.last)
    #expect(first.from == "2026-11-22T10:00:00.000Z" && first.to == "2026-11-22T10:01:39.500Z")
    #expect(first.durationSeconds == 99.5 && first.messages == 240 && first.whole)
    #expect(first.version == "0.1.0" && first.board == "Boat & <Co>" && first.clockCorrectionSeconds == 0)
    #expect(first.bytes == (try Files.bytes(of: drive.path("1.mcap"))).count)
    let states = try #require(first.channels.first { $0.topic == "/state" })
    #expect(states.messages == 160 && states.pauses == 1 && states.longestPauseSeconds == 20.5)
    #expect(abs((states.rateHz ?? 0) - 159 / 99.5) < 0.001)
    // Five seconds without a message are a pause at two states a second, and none with a single sentence.
    let second = try #require(contents.files.first)
    #expect(second.clockCorrectionSeconds == 3600 && second.from == "2026-11-22T10:01:40.000Z")
    #expect(second.channels.first { $0.topic == "/state" }?.pauses == 1)
    #expect(second.channels.first { $0.topic == "/receiver/gps/raw" }?.pauses == 0)
    // Power messages have no fixed rate.
    let power = try #require(second.channels.first { $0.topic == "/power" })
    #expect(power.messages == 1 && power.pauses == nil)
    #expect(contents.all.messages == 240 + 211)
    #expect(contents.all.from == first.from && contents.all.to == second.to)
  }

  @Test func `info shows message rates over the time that the files cover, and no rates of events`() throws {
    let drive = RecordedDrive()
    for name in ["1.mcap", "2.mcap"] {
      var writer = try MCAPWriter(MCAPFileSink(path: drive.path(name)))
      try writer.add(MCAPMetadata(name: "board", entries: ["file": #"{ name: "Boat", devices: {} }"#]))
      try writer.add(MCAPMetadata(name: "sensorhub", entries: ["version": "0.1.0"]))
      let state = try writer.addChannel(topic: "/state", messageEncoding: "json")
      let events = try ["/power", "/log", "/fusion", "/clock"].map {
        try writer.addChannel(topic: $0, messageEncoding: "json")
      }
      for index in 0..<100 as Range<UInt64> {
        let time = RecordedDrive.start + index * 100_000_000
        try writer.append([], channelID: state, logTimeNanoseconds: time)
        if index < 10 { for event in events { try writer.append([], channelID: event, logTimeNanoseconds: time) } }
      }
      try writer.finish()
    }
    let program = Program(["info", drive.folder, "--json"])
    #expect(program.wait() == 0, "\(program.standardError)")
    let contents = try JSONDecoder().decode(Contents.self, from: Data(program.standardOutput.utf8))
    for channels in contents.files.map(\.channels) + [contents.all.channels] {
      for channel in channels {
        #expect(channel.rateHz == (channel.topic == "/state" ? 10 : nil), "\(channel.topic)")
        #expect((channel.pauses == nil) == (channel.topic != "/state"), "\(channel.topic)")
      }
    }
  }

  @Test func `info's text has a line for each channel`() throws {
    let drive = RecordedDrive()
    let program = Program(["info", try drive.write(clockErrorSeconds: 3600)])
    #expect(program.wait() == 0)
    #expect(program.lines.contains("  state     whole"))
    #expect(program.lines.contains("  from      2026-11-22T10:00:00.000Z"))
    #expect(program.lines.contains("  board     Boat & <Co>"))
    #expect(program.lines.contains { $0.hasPrefix("  format    older, without the inputs of the fusion:") })
    #expect(program.lines.contains("  clock     the board's clock was 1 h 00 min slow; the times shown are corrected"))
    #expect(program.lines.contains { $0.hasPrefix("  /state ") && $0.contains(" 300 ") && $0.contains("1.71 Hz") })
  }

  @Test(arguments: [("/nowhere", 66, "there is no file"), ("/etc/passwd", 65, "is not an MCAP file")])
  func `info reports what it cannot read`(_ path: String, _ code: Int32, _ text: String) {
    let program = Program(["info", path])
    #expect(program.wait() == code)
    #expect(program.standardError.contains(text), "\(program.standardError)")
  }
}
