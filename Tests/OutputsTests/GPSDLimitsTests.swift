import Devices
import FoundationEssentials
import Fusion
import Hub
import MonotonicTime
import NMEA
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The lists in the gpsd protocol, compared with the limits of clients.
@Suite(.timeLimit(.minutes(10)))
struct GPSDLimitsTests {
  private struct Sky: Decodable {
    struct Satellite: Decodable { var used: Bool; var ss: Double? }
    var nSat, uSat: Int
    var satellites: [Satellite]
  }

  private struct Named: Decodable { var `class`: String; var device: String }

  private struct Poll: Decodable {
    var active: Int
    var tpv, gst, sky: [Named]
  }

  /// A log with 256 signals. Every fourth has a different strength, and those of GPS are used.
  private static var log: [UInt8] {
    var text = nmeaLine("GNRMC,120000.00,A,4807.0380,N,01131.0000,E,0.5,84.4,010626,,,A")
    text += nmeaLine("GNGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.6,0.9,1.3,1")
    for (talker, signals) in [("GP", [1, 5, 6, 7]), ("GL", [1, 3]), ("GA", [1, 2, 7, 5]), ("GB", [1, 5, 3, 8])] {
      for signal in signals {
        for index in 0..<5 {
          let group = (0..<4).map { place in
            let number = index * 4 + place + 1 + (talker == "GL" ? 64 : 0)
            return ",\(number),\(10 + place),\(100 + number),\(20 + number % 30)"
          }
          text += nmeaLine("\(talker)GSV,5,\(index + 1),20\(group.joined()),\(signal)")
        }
      }
    }
    return Array(text.utf8)
  }

  private func observation() throws -> GNSSObservation {
    var decoder = ReceiverDecoder()
    var last: GNSSObservation?
    let now = MonotonicInstant(nanoseconds: 1_000_000_000)
    GPSDLimitsTests.log.withUnsafeBufferPointer { decoder.take($0, readAt: now, receive: { last = copy $0 }) }
    decoder.endEpoch(at: now) { last = copy $0 }
    return try #require(last)
  }

  private func check(_ line: [UInt8]) throws {
    #expect(line.count <= 10_240)
    let sky = try JSONDecoder().decode(Sky.self, from: Data(line))
    #expect(sky.satellites.count <= 140 && sky.satellites.count > 90 && sky.nSat == sky.satellites.count)
    #expect(sky.satellites.count(where: \.used) >= 8)
  }

  @Test func `a list of satellites is no longer than libgps accepts, and includes those in use`() throws {
    let epoch = try observation()
    #expect(epoch.sky.count > 200)
    var json = JSONWriter()
    GPSDReport.writeSkyObject(epoch, device: "/dev/serial/by-id/usb-u-blox_AG_u-blox_GNSS_receiver-if00", to: &json)
    json.endLine()
    try check(Array(json.bytes))
    var decoder = GPSDDecoder()
    GPSDLimitsTests.log.withUnsafeBufferPointer { decoder.decode($0) }
    decoder.finish()
    var lines: [[UInt8]] = []
    decoder.takeOutput { lines = Array($0).split(separator: 10).map { Array($0) } }
    try check(try #require(lines.first { $0.starts(with: #"{"class":"SKY""#.utf8) }))
  }

  @Test func `a list within the limits is complete`() throws {
    var epoch = try observation()
    epoch.sky = Array(epoch.sky.prefix(100))
    var json = JSONWriter()
    GPSDReport.writeSkyObject(epoch, device: "tty", to: &json)
    let sky = try JSONDecoder().decode(Sky.self, from: Data(Array(json.bytes)))
    #expect(sky.satellites.count == 100)
  }

  @Test(
    arguments: [
      ("/dev/ttyAMA0", true), ("/dev/serial/by-id/usb-\(String(repeating: "x", count: 100))-if00", true),
      ("/dev/serial/by-id/usb-\(String(repeating: "x", count: 150))-if00", false),
      ("/dev/\(String(repeating: "ü", count: 200))", false),
      ("tcp://\(String(repeating: "a\u{301}", count: 80)):1", false),
    ])
  func `a path is no longer than libgps accepts`(_ path: String, _ isWhole: Bool) {
    let told = GPSDLimits.path(path)
    #expect(told.utf8.count <= 127 && (told == path) == isWhole)
    #expect(told.unicodeScalars.first == path.unicodeScalars.first)
    #expect(told.unicodeScalars.last == path.unicodeScalars.last)
    #expect(GPSDLimits.path(told) == told, "A client may name a device as it was told.")
  }

  @Test func `a device with a long path is reported and watched by a short one`() async throws {
    let port = "/dev/serial/by-id/usb-\(String(repeating: "x", count: 150))-if00"
    let host = try host("gps: { driver: \"nmea\", port: \"\(port)\" }")
    let devices = GPSDDevice.all(of: host.hub)
    #expect(devices.map(\.path) == [host.hub.gpsdDevice])
    #expect(devices.allSatisfy { $0.path.utf8.count <= 127 })
    for name in [port, host.hub.gpsdDevice] {
      var watch = GPSDWatch()
      try watch.change(by: Array("{\"enable\":true,\"device\":\"\(name)\"}".utf8))
      #expect(watch.device == host.hub.gpsdDevice)
    }
    host.hub.shutDown()
    await host.hub.isOff()
  }

  private func host(_ devices: String) throws -> HubHost {
    let text = "{ name: \"test\", motion: \"vehicle\", devices: { \(devices) } }"
    let board = try Board(json5: Array(text.utf8), file: "test")
    return HubHost(Hub(board: board, hardware: SimulatedHardware()), version: "test")
  }

  private static let imu = """
    imu: { driver: "mpu-6050", bus: "simulated/i2c",
      power: { switch: "gpio", chip: "simulated", line: "imu-power", lingerSeconds: 0 } }
    """
  private static let gps = """
    gps: { driver: "nmea", port: "simulated/gps",
      power: { switch: "gpio", chip: "simulated", line: "gps-power", lingerSeconds: 0 } }
    """

  @Test(arguments: [imu, "\(gps), \(imu)"])
  func `each list of POLL has one entry for each active device`(_ devices: String) async throws {
    let host = try host(devices)
    let hub = host.hub
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 50, parts: [.attitude]).subscribe(
      as: "test", receiveValue: { states.append($0) })
    await states.values { $0.contains { $0.attitude != nil } }
    var json = JSONWriter()
    GPSDReport.writePoll(host, at: MonotonicClock().now, to: &json)
    let poll = try JSONDecoder().decode(Poll.self, from: Data(Array(json.bytes)))
    #expect(poll.active == 1)
    for (list, name) in [(poll.tpv, "TPV"), (poll.gst, "GST"), (poll.sky, "SKY")] {
      #expect(list.map { $0.class } == [name])
      #expect(list.map(\.device) == [hub.mainDevice])
    }
    subscription.cancel()
    hub.shutDown()
    await hub.isOff()
  }
}
