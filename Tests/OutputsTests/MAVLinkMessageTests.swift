import Fusion
import Hub
import MonotonicTime
import Testing

@testable import Outputs

/// MAVLink's messages, compared with frames that pymavlink 2.4.50 has made from the same values.
struct MAVLinkMessageTests {
  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.reduce("") { $0 + ($1 < 16 ? "0" : "") + String($1, radix: 16) }
  }

  /// A state 1.6 s after the start: at 52° N 13° W, heading east, and moving north-west.
  private static func state() -> FusedState {
    var state = FusedState(at: MonotonicInstant(nanoseconds: 1_600_000_000))
    state.mode = .gnss
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: 52, longitudeDegrees: -13, altitudeHAEMetres: 80, altitudeMSLMetres: 38.5,
        horizontalSigmaMetres: 2, verticalSigmaMetres: 3), at: state.at, source: .gps)
    state.motion = Dated(
      FusedState.Motion(
        speedMetresPerSecond: 5, trackDegrees: 306.869_897_645_844_02, climbMetresPerSecond: nil,
        horizontalSigmaMetresPerSecond: 0.5), at: state.at, source: .gps)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(rotationVector: SIMD3(0, 0, .pi / 2)), inclinationSigmaRadians: 0.01,
        headingSigmaRadians: 0.1), at: state.at, source: .gps)
    state.rates = Dated(SIMD3(0.01, 0, -0.02), at: state.at, source: .gps)
    var fix = FusedState.FixQuality(
      mode: 3, status: 2, satellitesUsed: 12, hdop: 0.75, utcNanoseconds: 1_766_577_600_000_000_000)
    fix.isTimeConfirmed = true
    state.fix = Dated(fix, at: state.at, source: .gps)
    return state
  }

  private static func report(_ messages: MAVLinkPort.Message...) throws -> MAVLinkReport {
    let names = messages.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    let text = "{ name: 'test', mavlink: { to: 'udp://127.0.0.1:14550', messages: [\(names)] } }"
    let board = try Board(json5: Array(text.utf8), file: "board")
    return MAVLinkReport(try #require(board.mavlink))
  }

  private static func frame(
    _ state: FusedState, _ message: MAVLinkPort.Message, sequence: UInt8 = 0, isArduPilot: Bool = false
  ) throws -> String {
    var report = try report(message)
    let messages = report.messages(of: state, sync: MAVLinkTimeSync(), isArduPilot: isArduPilot)
    return hex(try #require(messages.first).frame(sequence: sequence, system: 1, component: 191))
  }

  @Test func `a heartbeat is that of a companion computer, and states whether values are simulated`() {
    let real = MAVLinkMessage.heartbeat(isSimulated: false).frame(sequence: 0, system: 1, component: 191)
    #expect(Self.hex(real) == "fd0900000001bf000000000000001208000403aec6")
    let simulated = MAVLinkMessage.heartbeat(isSimulated: true).frame(sequence: 255, system: 7, component: 220)
    #expect(Self.hex(simulated) == "fd090000ff07dc000000000000001208200403e72e")
  }

  @Test func `zeros at the end of the payload are left out, but not its first byte`() {
    let request = MAVLinkMessage.timeSync(request: 1_000_000_000, to: (0, 0))
    #expect(
      Self.hex(request.frame(sequence: 3, system: 1, component: 191))
        == "fd0c00000301bf6f0000000000000000000000ca9a3bab63")
    #expect(MAVLinkMessage.timeSync(request: 0, to: (0, 0)).frame(sequence: 0, system: 1, component: 1).count == 13)
    let addressed = MAVLinkMessage.timeSync(request: 1_000_000_000, to: (1, 1))
    #expect(
      Self.hex(addressed.frame(sequence: 3, system: 1, component: 191))
        == "fd1200000301bf6f0000000000000000000000ca9a3b0000000001016871")
  }

  @Test func `a fix is sent as GPS_INPUT and as GPS_RAW_INT`() throws {
    let input = try Self.frame(Self.state(), .gpsInput, sequence: 1)
    #expect(
      input == "fd4100000101bfe80000006a180000000000508806120092fe1e805b40f800001a420000403f00ff7f4700004040"
        + "000080c000000000f304353ff30435400000404014005e0900040c28231a85")
    let raw = try Self.frame(Self.state(), .gpsRaw)
    #expect(
      raw == "fd3400000001bf180000006a1800000000000092fe1e805b40f8649600004b00fffff401df77040c803801000c0b0000"
        + "b80b0000c3020000000000002823da48")
  }

  @Test func `without a fix, and while the position is dead-reckoned, GPS_INPUT has no position`() throws {
    var state = Self.state()
    state.position = nil
    state.fix?.value = FusedState.FixQuality(mode: 1, status: 1, satellitesUsed: nil, hdop: nil, utcNanoseconds: nil)
    let none =
      "fd3e00000001bfe80000006a1800000000000000000000000000000000000000000000ff7f4700ff7f47"
      + "000000000000000000000000000000000000000000000000ff0000000001717c"
    #expect(try Self.frame(state, .gpsInput) == none)
    state.position = Self.state().position
    state.mode = .deadReckoning
    #expect(try Self.frame(state, .gpsInput) == none)
  }

  @Test func `a pose is sent as ODOMETRY or VISION_POSITION_ESTIMATE`() throws {
    let zeros = { (count: Int) in String(repeating: "00", count: count) }
    let pose =
      "00008040" + zeros(20) + "00008040" + zeros(16) + "00001041" + zeros(12) + "17b7d138" + zeros(8) + "17b7d138"
      + zeros(4) + "0ad7233c"
    let speeds = "0000803e" + zeros(20) + "0000803e" + zeros(16) + "0000803e" + zeros(36)
    var state = Self.state()
    state.motion?.value.climbMetresPerSecond = 0
    let odometry = try Self.frame(state, .odometry, sequence: 2)
    #expect(
      odometry == "fde800000201bf4b0100006a18" + zeros(17) + "f304353f" + zeros(8) + "f304353f"
        + "000080c0000040c0000000000ad7233c000000000ad7a3bc" + pose + speeds + "010c00047b92")
    let vision = try Self.frame(Self.state(), .visionPosition, sequence: 5)
    #expect(vision == "fd7400000501bf660000006a18" + zeros(25) + "db0fc93f" + pose + "68fa")
  }

  @Test func `without a known climb, ODOMETRY has no velocity`() throws {
    var report = try Self.report(.odometry)
    let message = report.messages(of: Self.state(), sync: MAVLinkTimeSync(), isArduPilot: false).first
    let payload = try #require(message?.payload)
    func float(_ start: Int) -> Float {
      Float(bitPattern: payload[start..<start + 4].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
    }
    // The speeds, and the first number of their covariance.
    for start in [36, 40, 44, 144] { #expect(float(start).isNaN, "\(start)") }
    #expect(float(8) == 0 && float(60) == 4)
  }

  @Test func `ArduPilot gets the frame that it takes`() throws {
    var report = try Self.report(.odometry)
    let message = report.messages(of: Self.state(), sync: MAVLinkTimeSync(), isArduPilot: true).first
    #expect(message.map { Array($0.payload[228...]) } == [20, 12, 0, 4, 0])
  }

  @Test func `a pose needs a heading from true north and a height`() throws {
    var states = [Self.state(), Self.state(), Self.state(), Self.state()]
    states[0].attitude = nil
    states[1].attitude?.value.headingSigmaRadians = nil
    states[2].attitude?.value.north = .magnetic
    states[3].position?.value.altitudeHAEMetres = nil
    for state in states {
      var report = try Self.report(.visionPosition)
      #expect(report.messages(of: state, sync: MAVLinkTimeSync(), isArduPilot: false).isEmpty)
    }
  }

  @Test func `the resets of a pose are counted: a gap, the first fix after dead reckoning, a new origin`() throws {
    var report = try Self.report(.visionPosition)
    var state = Self.state()
    func pose(after seconds: Double, north metres: Double, _ mode: FusedState.Mode) -> (Float, UInt8)? {
      let now = state.at + .seconds(seconds)
      state.at = now
      state.mode = mode
      state.position?.at = now
      state.position?.value.latitudeDegrees = 52 + metres / 111_267
      let message = report.messages(of: state, sync: MAVLinkTimeSync(), isArduPilot: false).first
      guard let payload = message?.payload, let count = payload.last else { return nil }
      let bits = payload[8..<12].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      return (Float(bitPattern: bits).rounded(), count)
    }
    func check(_ pose: (Float, UInt8)?, _ north: Float, _ count: UInt8) {
      #expect(pose?.0 == north && pose?.1 == count, "\(String(describing: pose))")
    }
    check(pose(after: 1, north: 0, .fused), 0, 0)
    check(pose(after: 1, north: 100, .fused), 100, 0)
    check(pose(after: 1, north: 200, .deadReckoning), 200, 0)
    check(pose(after: 1, north: 300, .fused), 300, 1)
    check(pose(after: 3, north: 400, .fused), 400, 2)
    check(pose(after: 1, north: 30_000, .fused), 0, 3)
    check(pose(after: 1, north: 30_100, .fused), 100, 3)
  }

  @Test func `a value is sent once, and GPS_INPUT at most five times a second`() throws {
    var report = try Self.report(.gpsInput)
    var state = Self.state()
    let sync = MAVLinkTimeSync()
    #expect(report.messages(of: state, sync: sync, isArduPilot: false).count == 1)
    state.at = state.at + .milliseconds(300)
    #expect(report.messages(of: state, sync: sync, isArduPilot: false).isEmpty)
    var count = 0
    for _ in 0..<50 {
      state.at = state.at + .milliseconds(20)
      state.position?.at = state.at
      count += report.messages(of: state, sync: sync, isArduPilot: false).count
    }
    #expect(count == 5)
    state.mode = .asleep
    #expect(report.messages(of: state, sync: sync, isArduPilot: false).isEmpty)
  }
}
