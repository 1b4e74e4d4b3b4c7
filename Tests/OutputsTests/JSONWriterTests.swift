import FoundationEssentials
import Fusion
import Glibc
import MonotonicTime
import Outputs
import TestSupport
import Testing

struct JSONWriterTests {
  @Test(arguments: [
    (0.0, 3, "0.000"), (-0.0001, 3, "0.000"), (1.0005, 3, "1.001"), (-37.784788333, 9, "-37.784788333"),
    (9.9999, 2, "10.00"), (123456789.125, 1, "123456789.1"), (5.0, 0, "5"), (-0.5, 1, "-0.5"),
    (-0.999_999_999_9, 9, "-1.000000000"), (8_999_999.5, 9, "8999999.500000000"),
    (1_795_340_451.75, 9, "1795340451.750000000"), (0.3, 0, "0"), (1e20, 3, "1e+20"),
  ])
  func `numbers have the stated number of decimals`(_ value: Double, _ decimals: Int, _ text: String) {
    var json = JSONWriter(capacity: 1)
    json.number(value, decimals: decimals)
    #expect(String(decoding: json.bytes, as: UTF8.self) == text)
  }

  @Test func `a number is rounded to the nearest with its decimals`() throws {
    var random = SeededRandom()
    var json = JSONWriter()
    for _ in 0..<20_000 {
      let decimals = Int.random(in: 0...9, using: &random)
      let limit: Double = [1, 100, 4e5, 1e8][Int.random(in: 0..<4, using: &random)]
      let value = Double.random(in: -limit...limit, using: &random)
      json.removeAll()
      json.number(value, decimals: decimals)
      let text = String(decoding: json.bytes, as: UTF8.self)
      let unit = pow(10, -Double(decimals))
      #expect(try abs(#require(Double(text)) - value) <= 0.5 * unit + 2 * value.ulp, "\(value) became \(text)")
      #expect(text.split(separator: ".").dropFirst().first?.count ?? 0 == decimals)
    }
  }

  @Test func `a number written exactly is read back bit for bit`() throws {
    // The values are converter steps, as multiples and as fractions, which are rarely the nearest number to their nine
    // decimals.
    let steps = (-2000...2000).map(Double.init)
    try expectExact(
      steps.flatMap { [$0 * 0.000_002_5, $0 * 0.001_25] } + [.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e16])
    try expectExact(steps.map { Float($0) / 68.42 } + [.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e-5])
  }

  private func expectExact<Value: FloatingPoint & CustomStringConvertible & Decodable>(_ values: [Value]) throws {
    var json = JSONWriter()
    json.beginArray()
    for value in values {
      json.beginObject()
      json.member("a", exactly: value)
      json.member("b", exactly: Value.nan)
      json.endObject()
    }
    json.endArray()
    let read = try JSONDecoder().decode([[String: Value]].self, from: Data(json.bytes))
    #expect(read == values.map { ["a": $0] })
  }

  @Test func `unknown and infinite values are omitted, and strings are escaped`() {
    var json = JSONWriter()
    json.beginObject()
    json.member("a", nil as Double?, decimals: 1)
    json.member("b", .nan, decimals: 1)
    json.member("c", "say \"hi\"\n\\")
    json.member("d", 7)
    json.endObject()
    #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"c":"say \"hi\"\u000a\\","d":7}"#)
  }

  @Test func `a written state can be read back`() throws {
    let at = MonotonicInstant(nanoseconds: 5_000_000_000)
    var state = FusedState(at: at)
    state.mode = .deadReckoning
    state.deadReckoningSince = at.advanced(by: .seconds(-3))
    state.position = Dated(
      FusedState.Position(
        latitudeDegrees: 52.5, longitudeDegrees: -13.25, altitudeHAEMetres: 80, altitudeMSLMetres: 40,
        horizontalSigmaMetres: 1.5, verticalSigmaMetres: 3), at: at.advanced(by: .milliseconds(-250)), source: .gps)
    state.motion = Dated(
      FusedState.Motion(speedMetresPerSecond: 12.5, trackDegrees: 90, climbMetresPerSecond: 0), at: at, source: .gps)
    state.attitude = Dated(
      FusedState.Attitude(
        quaternion: Quaternion(roll: 0.1, pitch: -0.2, yaw: 1), inclinationSigmaRadians: 0.01, headingSigmaRadians: nil),
      at: at, source: [.gps, .imu, .mag])
    state.magneticField = Dated(SIMD3(18.5, -2.25, 45.875), at: at.advanced(by: .milliseconds(-25)), source: .mag)
    state.air = Dated(
      FusedState.Air(pressurePascals: 100_864.25, temperatureCelsius: -3.5, humidityPercent: 45), at: at, source: .baro)
    var json = JSONWriter()
    StateReport.write(state, to: &json)
    let line = Array(json.bytes.dropLast())
    #expect(!String(decoding: line, as: UTF8.self).contains("yaw"), "an unknown heading must not look like one")
    let back = try #require(StateReport.read(line))
    #expect(back.mode == .deadReckoning)
    #expect(abs((back.at - (try #require(back.deadReckoningSince))).inSeconds - 3) < 0.001)
    #expect(back.position?.value == state.position?.value)
    #expect(abs(try #require(back.age(of: back.position)).inSeconds - 0.25) < 0.001)
    #expect(back.motion?.value == state.motion?.value)
    #expect(back.attitude?.value.headingSigmaRadians == nil)
    #expect(back.attitude.map { back.devices.text($0.source) } == "gps+imu+mag")
    #expect(back.position.map { back.devices.text($0.source) } == "gps")
    #expect(back.magneticField?.value == state.magneticField?.value)
    #expect(back.magneticField.map { back.devices.text($0.source) } == "mag")
    #expect(back.air?.value == state.air?.value && back.air.map { back.devices.text($0.source) } == "baro")
    #expect(StateReport.read(Array("{}".utf8)) == nil)
  }

  @Test func `states name the board's devices, however many there are`() throws {
    let names = (0..<9).map { "device\($0)" }
    var state = FusedState(at: MonotonicInstant(nanoseconds: 1), devices: DeviceNames(names))
    state.rates = Dated(.zero, at: state.at, source: [DeviceSet(1), DeviceSet(8)])
    var json = JSONWriter()
    StateReport.write(state, to: &json)
    #expect(String(decoding: json.bytes, as: UTF8.self).contains(#""source":"device1+device8""#))
    let back = try #require(StateReport.read(Array(json.bytes.dropLast())))
    #expect(back.rates.map { back.devices.text($0.source) } == "device1+device8")
  }

  @Test(arguments: [
    #""monotonic":1e300"#, #""monotonic":5,"deadReckoningSeconds":-1e11"#,
    #""monotonic":5,"position":{"lat":1,"lon":2,"age":1e12,"source":"gps"}"#,
    #""monotonic":5,"rates":{"x":1,"y":2,"z":3,"age":1e300,"source":"imu"}"#,
  ])
  func `a state with an impossible time is refused`(_ members: String) {
    #expect(StateReport.read(Array("{\"mode\":\"fused\",\(members)}".utf8)) == nil)
  }

  @Test(arguments: [
    ("2026-11-21T03:07:19.000Z", true), ("2026-11-21T24:07:19.000Z", false), ("2026-11-21T03:60:19.000Z", false),
    ("2026-11-21T9223372036854775807:07:19.000Z", false), ("2026-11-21T03:07:19.9999999999Z", false),
    ("2026-21-11T03:07:19.000Z", false), ("yesterday", false),
  ])
  func `an invalid time of day in a state is read as unknown`(_ time: String, _ isKnown: Bool) throws {
    let fix = #""fix":{"mode":3,"status":1,"age":0.5,"source":"gps"}"#
    let line = "{\"mode\":\"gnss\",\"monotonic\":5,\"time\":\"\(time)\",\(fix)}"
    let state = try #require(StateReport.read(Array(line.utf8)))
    #expect((state.fix?.value.utcNanoseconds != nil) == isKnown)
  }
}
