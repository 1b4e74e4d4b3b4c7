import Outputs

/// The results for one device: measurements, checks and power cycles.
struct DeviceVerification {
  struct Check {
    var name: StaticString
    /// Whether the check passed; `nil` if it could not be made.
    var passed: Bool?
    var words: String
  }

  /// A measured quantity of the report, for example `acceleration` in m/s².
  struct Measured {
    var name: StaticString
    var unit: StaticString
    var values: VerifiedValues
  }

  let id, kind, title: String
  /// `simulated` or `recorded`; `nil` for a real device.
  let origin: String?
  var measured: [Measured] = []
  var checks: [Check] = []
  /// For each power cycle, the time from the request to the first measurement, in seconds.
  var firstValueSeconds: [Double] = []
  var satellites: Int?
  var sigmaMetres: Double?
  /// By how much each of the hub's counters for the device has grown during the verification; unchanged ones are
  /// omitted.
  var counters: [String: Int] = [:]

  var failedCount: Int { checks.count { $0.passed == false } }

  /// The parts of the state that wake only this kind of device.
  static func parts(of kind: String) -> [String] {
    switch kind {
    case "receiver": ["position"]
    case "imu": ["rates", "acceleration"]
    case "magnetometer": ["magneticField"]
    case "barometer": ["pressure"]
    case "supplyMonitor": ["supply"]
    default: []
    }
  }

  /// The limits for the mean values of a board at rest on the Earth's surface.
  private static let bounds: [(kind: String, name: StaticString, check: StaticString, range: ClosedRange<Double>)] = [
    ("imu", "acceleration", "gravity", 9.3...10.3), ("imu", "rotation", "at rest", 0...0.2),
    ("magnetometer", "field", "field strength", 15...90), ("barometer", "pressure", "pressure", 30_000...110_000),
    ("supplyMonitor", "voltage", "voltage", 0.5...60),
  ]

  /// A value with its name, its unit and the devices that it comes from, as in `gps+imu`. Its time is in seconds of the
  /// hub's clock.
  struct Value {
    var name, unit: StaticString
    var value, at: Double
    var source: String

    init(_ name: StaticString, _ unit: StaticString, _ value: Double, at: Double, _ source: String) {
      (self.name, self.unit, self.value, self.at, self.source) = (name, unit, value, at, source)
    }
  }

  static func values(
    of state: VerifiedState, kind: String
  ) -> [Value] {
    let now = state.monotonic
    switch kind {
    case "receiver":
      guard let position = state.position else { return [] }
      return [Value("sigma", "m", position.sigmaHorizontal ?? 0, at: now - position.age, position.source)]
    case "imu":
      return [
        state.acceleration.map { Value("acceleration", "m/s2", $0.magnitude, at: now - $0.age, $0.source) },
        state.rates.map { Value("rotation", "rad/s", $0.magnitude, at: now - $0.age, $0.source) },
      ].compactMap { $0 }
    case "magnetometer":
      return state.magneticField.map { [Value("field", "uT", $0.magnitude, at: now - $0.age, $0.source)] } ?? []
    case "barometer": return state.air.map { [Value("pressure", "Pa", $0.pressure, at: now - $0.age, $0.source)] } ?? []
    case "supplyMonitor":
      return state.supply.map { [Value("voltage", "V", $0.volts, at: now - $0.age, $0.source)] } ?? []
    default: return []
    }
  }

  /// Whether a state contains a value that the device has measured since `start`, in seconds of the hub's clock.
  func has(_ state: VerifiedState, since start: Double) -> Bool {
    own(state).contains { $0.at >= start }
  }

  /// The devices of this kind whose values a state contains instead of this device's, measured since `start`; `nil` if
  /// there are none. The hub uses only one IMU, for example.
  func substitutes(in state: VerifiedState, since start: Double) -> String? {
    let values = DeviceVerification.values(of: state, kind: kind)
    return own(state).isEmpty ? values.first { $0.at >= start }?.source : nil
  }

  private func own(_ state: VerifiedState) -> [Value] {
    DeviceVerification.values(of: state, kind: kind).filter { value in
      value.source.utf8.split(separator: UInt8(ascii: "+")).contains { $0.elementsEqual(id.utf8) }
    }
  }

  mutating func take(_ state: VerifiedState) {
    for value in own(state) {
      let index = measured.firstIndex { "\($0.name)" == "\(value.name)" } ?? measured.count
      if index == measured.count {
        measured.append(Measured(name: value.name, unit: value.unit, values: VerifiedValues()))
      }
      measured[index].values.take(value.value, at: value.at)
    }
    if kind == "receiver", let position = state.position {
      satellites = state.fix?.satellites ?? satellites
      sigmaMetres = position.sigmaHorizontal ?? sigmaMetres
    }
  }

  /// Adds the checks of the measured values: their means, and their noise.
  mutating func judge() {
    for bound in DeviceVerification.bounds where bound.kind == kind {
      guard let found = measured.first(where: { "\($0.name)" == "\(bound.name)" }), let mean = found.values.mean else {
        continue
      }
      let range = "\(Text.fixed(bound.range.lowerBound, 1)) to \(Text.fixed(bound.range.upperBound, 1)) \(found.unit)"
      checks.append(
        Check(
          name: bound.check, passed: bound.range.contains(mean),
          words: "\(Text.fixed(mean, 3)) \(found.unit), expected \(range)"))
    }
    if kind != "receiver", let first = measured.first, let noise = first.values.noise, first.values.count >= 10 {
      // A stuck chip repeats one value. A working chip never does, because of its noise.
      checks.append(
        Check(name: "noise", passed: noise > 0, words: "\(Text.fixed(noise, 5)) \(first.unit), one sigma"))
    }
  }
}

extension DeviceVerification {
  private static func word(_ passed: Bool?) -> StaticString {
    switch passed {
    case true?: "passed"
    case false?: "FAILED"
    case nil: "not checked"
    }
  }

  var lines: [String] {
    var lines = ["\(id): \(title)\(origin.map { " (\($0))" } ?? "")"]
    for one in measured where kind != "receiver" {
      guard let mean = one.values.mean else { continue }
      let noise = one.values.noise.map { ", noise \(Text.fixed($0, 5)) \(one.unit)" } ?? ""
      let rate = one.values.rateHz.map { ", \(Text.fixed($0, 1)) a second" } ?? ""
      lines.append("  \(one.name): \(Text.fixed(mean, 3)) \(one.unit)\(noise)\(rate)")
    }
    if let satellites { lines.append("  satellites: \(satellites)") }
    if let sigmaMetres { lines.append("  sigma: \(Text.fixed(sigmaMetres, 2)) m") }
    if !firstValueSeconds.isEmpty {
      let times = firstValueSeconds.map { Text.fixed($0, 2) }.joined(separator: ", ")
      lines.append("  first measurement after: \(times) s")
    }
    for (name, count) in counters.sorted(by: { $0.key < $1.key }) { lines.append("  \(name): \(count)") }
    for check in checks { lines.append("  \(DeviceVerification.word(check.passed))  \(check.name): \(check.words)") }
    return lines
  }

  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("id", id)
    json.member("kind", kind)
    json.member("title", title)
    json.member("origin", origin)
    json.key("measured")
    json.beginObject()
    for one in measured {
      json.key(dynamic: "\(one.name)")
      json.beginObject()
      json.member("unit", literal: one.unit)
      json.member("count", one.values.count)
      json.member("mean", one.values.mean, decimals: 5)
      json.member("noise", one.values.noise, decimals: 6)
      json.member("rateHz", one.values.rateHz, decimals: 2)
      json.endObject()
    }
    json.endObject()
    json.member("satellites", satellites)
    json.key("firstValueSeconds")
    json.beginArray()
    for seconds in firstValueSeconds { json.number(seconds, decimals: 3) }
    json.endArray()
    json.key("counters")
    json.beginObject()
    for (name, count) in counters.sorted(by: { $0.key < $1.key }) {
      json.key(dynamic: name)
      json.integer(count)
    }
    json.endObject()
    json.key("checks")
    json.beginArray()
    for check in checks {
      json.beginObject()
      json.member("name", literal: check.name)
      if let passed = check.passed { json.member("passed", passed) }
      json.member("words", check.words)
      json.endObject()
    }
    json.endArray()
    json.endObject()
  }
}
