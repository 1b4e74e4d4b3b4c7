import Hub
import Testing

@testable import Outputs

/// The streams that a watch of the gpsd protocol needs.
struct GPSDStreamsTests {
  typealias Stream = GPSDStreams.Stream

  private static let gps = #"gps: { driver: "nmea", port: "/dev/gps" }"#
  private static let mast = #"mast: { driver: "nmea", port: "/dev/mast" }"#
  private static let imu = #"imu: { driver: "mpu-6050", bus: "/dev/i2c-1" }"#
  private static let receiver = GPSDStreams.Receiver(id: "gps", path: "/dev/gps")

  private static func board(_ devices: String, _ settings: String = "") throws -> Board {
    let text = "{ name: \"test\", devices: { \(devices) }, \(settings) }"
    return try Board(json5: Array(text.utf8), file: "test")
  }

  /// - Parameter members: members of a WATCH object
  private static func streams(_ members: String, on board: Board) throws -> GPSDStreams {
    var watch = GPSDWatch()
    try watch.change(by: Array("{\(members)}".utf8))
    return GPSDStreams(of: watch, on: board)
  }

  @Test(
    arguments: [
      (#""json":true"#, [.devices, .states(parts: .all)]),
      (#""json":true,"attitudeRate":25"#, [.devices, .states(parts: .all), .attitudes(rateHz: 25)]),
      (#""nmea":true"#, [.devices, .sentences(of: nil)]),
      (#""raw":2"#, [.devices, .sentences(of: nil)]),
      (#""pps":true"#, [.devices, .clockOffsets]),
      (#""json":true,"nmea":true,"pps":true"#, [.devices, .states(parts: .all), .sentences(of: nil), .clockOffsets]),
      // A client that only polls keeps the devices awake.
      (#""enable":true"#, [.devices, .states(parts: .all)]),
      (#""enable":false,"json":true,"nmea":true,"pps":true"#, []),
    ] as [(String, [Stream])])
  func `a watch needs the streams of its members`(_ members: String, _ expected: [Stream]) throws {
    let board = try Self.board("\(Self.gps), \(Self.imu)")
    #expect(try Self.streams(members, on: board).all == expected)
  }

  @Test func `only a client with positions is notified when there are none, and the attitude comes with them or alone`()
    throws
  {
    let board = try Self.board("\(Self.gps), \(Self.imu)")
    func positions(_ members: String) throws -> GPSDStreams.Positions? {
      try Self.streams(members, on: board).positions
    }
    #expect(try positions(#""json":true"#) == .states(includesAttitude: true))
    #expect(try positions(#""json":true,"attitudeRate":25"#) == .states(includesAttitude: false))
    #expect(try positions(#""json":true,"device":"/dev/gps""#) == .states(includesAttitude: false))
    for members in [#""json":true,"device":"/dev/i2c-1""#, #""enable":true"#, #""nmea":true"#, #""pps":true"#] {
      #expect(try positions(members) == nil, "\(members)")
    }
  }

  @Test func `a watch of the IMU wakes no receiver`() throws {
    let board = try Self.board("\(Self.gps), \(Self.imu)")
    let streams = try Self.streams(#""json":true,"nmea":true,"raw":2,"device":"/dev/i2c-1""#, on: board)
    #expect(streams.all == [.devices, .attitudes(rateHz: nil)])
  }

  @Test func `a watch of the only receiver needs the fused states, unless it is not fused`() throws {
    let members = #""json":true,"nmea":true,"device":"/dev/gps""#
    let fused = try Self.streams(members, on: Self.board("\(Self.gps), \(Self.imu)"))
    #expect(fused.all == [.devices, .states(parts: .all), .sentences(of: nil)])
    let board = try Self.board("\(Self.gps), \(Self.imu)", #"fusion: { devices: ["imu"] }"#)
    let other = try Self.streams(members, on: board)
    #expect(other.all == [.devices, .epochs(of: Self.receiver), .sentences(of: "gps")])
    #expect(other.positions == .receiver(Self.receiver))
  }

  @Test func `a watch of one of several receivers needs its epochs and its sentences`() throws {
    let board = try Self.board("\(Self.mast), \(Self.gps), \(Self.imu)")
    let one = try Self.streams(#""json":true,"raw":1,"device":"/dev/gps""#, on: board)
    #expect(one.all == [.devices, .epochs(of: Self.receiver), .sentences(of: "gps")])
    #expect(one.positions == .receiver(Self.receiver))
    let sentences = try Self.streams(#""nmea":true,"device":"/dev/gps""#, on: board)
    #expect(sentences.all == [.devices, .sentences(of: "gps")] && sentences.positions == nil)
    let all = try Self.streams(#""json":true,"raw":1"#, on: board)
    #expect(all.all == [.devices, .states(parts: .all), .sentences(of: nil)])
  }

  @Test func `a board without a receiver has attitudes at its own rate`() throws {
    let streams = try Self.streams(#""json":true"#, on: Self.board(Self.imu))
    #expect(streams.all == [.devices, .states(parts: .all), .attitudes(rateHz: nil)])
    #expect(streams.positions == .states(includesAttitude: false))
  }

  @Test func `the states wake the devices for the parts that the board file names`() throws {
    let board = try Self.board("\(Self.gps), \(Self.imu)", #"gpsd: { parts: ["position"] }"#)
    #expect(try Self.streams(#""json":true"#, on: board).all == [.devices, .states(parts: [.position])])
  }

  @Test(
    arguments: [
      (#""json":true"#, #""json":true,"nmea":true"#, [.sentences(of: nil)], []),
      (#""json":true,"nmea":true"#, #""json":true,"nmea":false"#, [], [.sentences(of: nil)]),
      (#""nmea":true"#, #""nmea":true,"raw":2"#, [], []),
      (#""json":true"#, #""json":true,"attitudeRate":25"#, [.attitudes(rateHz: 25)], []),
      (
        #""json":true,"attitudeRate":25"#, #""json":true,"attitudeRate":5"#, [.attitudes(rateHz: 5)],
        [.attitudes(rateHz: 25)]
      ),
      (
        #""json":true,"nmea":true"#, #""json":true,"nmea":true,"device":"/dev/gps""#,
        [.epochs(of: receiver), .sentences(of: "gps")], [.states(parts: .all), .sentences(of: nil)]
      ),
      (
        #""json":true,"pps":true"#, #""enable":false"#, [],
        [.devices, .states(parts: .all), .clockOffsets]
      ),
    ] as [(String, String, [Stream], [Stream])])
  func `a new watch begins and ends only the streams in which it differs`(
    _ old: String, _ new: String, _ begun: [Stream], _ ended: [Stream]
  ) throws {
    let board = try Self.board("\(Self.mast), \(Self.gps), \(Self.imu)")
    let change = try Self.streams(new, on: board).change(from: Self.streams(old, on: board).all)
    #expect(change.begun == begun)
    #expect(change.ended == ended)
  }

  @Test func `a new board changes only the streams that mean something else on it`() throws {
    let members = #""json":true,"pps":true,"device":"/dev/gps""#
    let held = try Self.streams(members, on: Self.board(Self.gps)).all
    let change = try Self.streams(members, on: Self.board("\(Self.gps), \(Self.mast)")).change(from: held)
    #expect(change.begun == [.epochs(of: Self.receiver)])
    #expect(change.ended == [.states(parts: .all)])
  }
}
