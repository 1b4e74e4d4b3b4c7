import FoundationEssentials
import Glibc
import Hub
import TestSupport
import Testing

/// The chapters in Documentation/reference have a line for everything that a running hub sends.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReferenceTests {
  private let http = SocketClient.freePort()
  private let gpsd = SocketClient.freePort()

  /// A device of each kind.
  private func hub(_ more: String = "") -> HubProcess {
    let power = "switch: \"gpio\", chip: \"simulated\", lingerSeconds: 0.2"
    let budget = "milliwattHoursPerDay: 1000, whenShort: { everySeconds: 60 }"
    let hub = HubProcess(
      board: """
        { name: "test", motion: "vehicle", http: { port: \(http) }, gpsd: { port: \(gpsd) },
          devices: {
            gps: { driver: "nmea", port: "simulated/gps",
              power: { \(power), line: "gps-power", monitor: "meter", \(budget) } },
            imu: { driver: "mpu-6050", bus: "simulated/i2c", power: { \(power), line: "imu-power" } },
            mag: { driver: "lis3mdl", bus: "simulated/i2c" },
            baro: { driver: "bme280", bus: "simulated/i2c" },
            meter: { driver: "ina226", bus: "simulated/i2c" },
          },
          fences: { yard: { circle: [52.5, 13.4, 5000] } }\(more) }
        """)
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  private func paths(_ text: some StringProtocol) throws -> JSONPaths {
    try JSONDecoder().decode(JSONPaths.self, from: Data(Array(text.utf8)))
  }

  @Test func `the reference has a line for each field of a state`() throws {
    let rows = try ReferenceChapter("states.md").names("## Fields")
    let hub = hub()
    let client = SocketClient(path: hub.socket)
    #expect(client.receives("\"mode\":\"fused\""))
    #expect(client.receives("\"supply\":{") && client.receives("\"air\":{"))
    let fixes = SocketClient(path: hub.socket, isNamed: true)
    fixes.send("{\"every\": 604800, \"accuracy\": 100, \"within\": 60, \"maxAge\": 0}\n")
    #expect(fixes.receives("\"schedule\":{"))
    #expect(fixes.receives(lineCount: 1))
    // The last line of a stream may be incomplete.
    var texts = Array(client.text.split(separator: "\n").dropLast())
    texts += fixes.text.split(separator: "\n").prefix(1)
    client.leave()
    fixes.leave()
    #expect(hub.comesToRest())
    let asleep = HTTPAnswer(http, "GET", "/state").body
    texts.append(asleep[...])
    var seen: Set<String> = []
    for text in texts {
      let state = try paths(text)
      seen.formUnion(state.paths)
      #expect(state.without(rows: rows).isEmpty, "\(state.without(rows: rows))")
    }
    let expected = [
      "class", "asleepSeconds", "position.lat", "velocity.track", "attitude.q", "rates.x", "acceleration.z",
      "magneticField.y", "air.humidity", "supply.volts", "fix.status", "schedule.met",
    ]
    #expect(seen.isSuperset(of: expected), "\(seen.sorted())")
    #expect(hub.stop() == 0)
  }

  @Test func `the reference has a line for each field of a device, a fence and a hold`() throws {
    struct Devices: Decodable { var devices: [JSONPaths] }
    struct Fences: Decodable { var fences: [String: JSONPaths] }
    let chapter = try ReferenceChapter("http.md")
    let hub = hub(", requests: [{ name: \"log\", every: 604800 }]")
    let client = SocketClient(path: hub.socket)
    #expect(client.receives("\"mode\":\"fused\""))
    let answer = HTTPAnswer(http, "GET", "/devices").body
    let rows = chapter.names("### Devices")
    let devices = try JSONDecoder().decode(Devices.self, from: Data(Array(answer.utf8))).devices
    #expect(devices.count == 5)
    for device in devices {
      #expect(device.without(rows: rows).isEmpty, "\(device.without(rows: rows))")
    }
    let seen = devices.reduce(into: Set<String>()) { $0.formUnion($1.paths) }
    let expected = ["power", "origin", "bills.run.payer", "budget.steps", "linger.isLearned", "counters.samples"]
    #expect(seen.isSuperset(of: expected), "\(seen.sorted())")
    let fences = HTTPAnswer(http, "GET", "/fences").body
    let known = try JSONDecoder().decode(Fences.self, from: Data(Array(fences.utf8))).fences
    let fence = try #require(known["yard"])
    #expect(fence.paths.contains("circle"))
    #expect(fence.without(rows: chapter.names("### Fence")).isEmpty, "\(fence.paths)")
    let hold = try paths(HTTPAnswer(http, "POST", "/devices/gps/hold?for=60").body)
    #expect(hold.paths.contains("id"))
    #expect(hold.without(rows: chapter.names("### Hold")).isEmpty, "\(hold.paths)")
    client.leave()
    #expect(hub.stop() == 0)
  }

  @Test func `the reference has a line for each metric, with its type and labels`() throws {
    let chapter = try ReferenceChapter("metrics.md")
    var rows: [String: [String]] = [:]
    for row in chapter.rows() where row.count > 2 && row[0].hasPrefix("`sensorhub_") {
      for name in ReferenceChapter.code(row[0]) { rows[name] = [row[1]] + ReferenceChapter.code(row[2]).sorted() }
    }
    let hub = hub(", chrony: { socket: \"/nowhere/chrony.sock\" }")
    let client = SocketClient(path: hub.socket)
    #expect(client.receives("\"mode\":\"fused\""))
    #expect(eventually { HTTPAnswer(http, "GET", "/metrics").body.contains("sensorhub_clock_offset_seconds") })
    let text = HTTPAnswer(http, "GET", "/metrics").body
    var types: [String: String] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ").map(String.init)
      types[words[2]] = words[3]
    }
    #expect(types.count > 30, "\(types)")
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let name = String(line.prefix { $0 != "{" && $0 != " " })
      let labels = ReferenceTests.labels(of: line)
      let found = [types[name] ?? "no type"] + labels
      #expect(rows[name] == found, "\(name) is a \(found.joined(separator: ", "))")
    }
    client.leave()
    #expect(hub.stop() == 0)
  }

  /// The names of a sample's labels, sorted.
  private static func labels(of line: Substring) -> [String] {
    let parts = line.components(before: "=\"")
    let names = parts.map { part in
      String(part.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }.reversed())
    }
    return names.sorted()
  }

  @Test func `the reference has a line for each member of gpsd's objects`() throws {
    struct Object: Decodable { var `class`: String }
    let chapter = try ReferenceChapter("sockets.md")
    var rows: [String: Set<String>] = [:]
    for row in chapter.rows("### Objects") where row.count > 2 {
      for name in ReferenceChapter.code(row[0]) { rows[name, default: []].formUnion(ReferenceChapter.code(row[1])) }
    }
    let hub = hub()
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true,\"attitudeRate\":5};")
    for kind in ["TPV", "SKY", "ATT", "IMU"] { #expect(client.receives("\"class\":\"\(kind)\"")) }
    #expect(client.receives("\"mode\":3"))
    // The last line may be incomplete, so it is not read. The second of two invalid requests is answered after the poll
    // and the first one, so its answer shows that these lines are complete.
    client.send("?POLL;?NONSENSE;?NONSENSE;")
    #expect(client.receives { $0.ranges(of: "\"class\":\"ERROR\"").count == 2 })
    var seen: Set<String> = []
    let lines = client.text.split(whereSeparator: \.isNewline).dropLast()
    for line in lines where line.hasPrefix("{") {
      let kind = try JSONDecoder().decode(Object.self, from: Data(Array(line.utf8))).class
      seen.insert(kind)
      let members = try paths(line).paths.flatMap { path in
        let names = path.split(separator: ".").map(String.init)
        // The objects within these have lines of their own.
        return kind == "SKY" ? names : Array(names.prefix(1))
      }
      let missing = Set(members).subtracting(rows[kind] ?? []).subtracting(["class"])
      #expect(missing.isEmpty, "\(kind): \(missing.sorted())")
    }
    let expected = ["VERSION", "DEVICES", "WATCH", "TPV", "SKY", "ATT", "IMU", "POLL", "ERROR"]
    #expect(seen.isSuperset(of: expected), "\(seen.sorted())")
    client.leave()
    #expect(hub.stop() == 0)
  }

  @Test func `the reference has a line for each topic and each published field of a hub`() throws {
    let chapter = try ReferenceChapter("mqtt.md")
    let topics = Set(chapter.names("## Topics").map { name in String(name.prefix { $0 != "/" }) })
    let broker = Broker()
    let hub = hub(", mqtt: { broker: \"\(broker.address)\", hub: \"boat\" }")
    #expect(hub.logs("joined \(broker.address) as 'boat'"), "\(hub.program.standardError)")
    let listener = broker.listen(["sensorhub/boat/#"])
    #expect(listener.prints("sensorhub/boat/health {"))
    broker.publish("sensorhub/boat/interest/phone/state", #"{"rateHz": 2, "for": 60}"#)
    #expect(listener.prints("sensorhub/boat/state {"))
    let lines = listener.standardOutput.split(separator: "\n").dropLast()
    for line in lines {
      let topic = line.prefix { $0 != " " }.split(separator: "/")
      #expect(topic.count > 2 && topics.contains(String(topic[2])), "\(line)")
    }
    let health = try #require(lines.first { $0.hasPrefix("sensorhub/boat/health ") })
    let fields = try paths(health.drop { $0 != " " })
    #expect(fields.paths.contains("instance"))
    #expect(fields.without(rows: chapter.names("### health")).isEmpty, "\(fields.paths)")
    listener.send(SIGTERM)
    #expect(hub.stop() == 0)
  }

  @Test func `the reference has a line for each chip, with its addresses, rates and currents`() throws {
    struct Chip: Decodable {
      var name, title, provenAgainst: String
      var addresses: [Int]
      var ratesHz: [Double]
      var milliamperes, sleepMilliamperes: Double

      var row: [String] {
        let hexadecimal = addresses.map { "0x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let many = "\(hexadecimal[0]) to \(hexadecimal[hexadecimal.count - 1])"
        let places = addresses.count > 3 ? many : hexadecimal.joined(separator: ", ")
        let rates = ratesHz.map(Chip.short).joined(separator: " to ")
        let currents = [milliamperes, sleepMilliamperes].map(Chip.short)
        return ["`\(name)`", title, places, rates] + currents + [provenAgainst]
      }

      static func short(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
      }
    }
    let rows = try ReferenceChapter("devices.md").rows("## Chips").filter { $0[0].hasPrefix("`") }
    let program = Program(["chips", "--json"])
    #expect(program.wait() == 0)
    let chips = try program.lines.map { try JSONDecoder().decode(Chip.self, from: Data(Array($0.utf8))) }
    for chip in chips {
      #expect(rows.contains(chip.row), "| \(chip.row.joined(separator: " | ")) |")
    }
    #expect(rows.count == chips.count)
  }

  @Test(arguments: ViewRequest.Key.allCases.filter { $0 != .parts })
  func `the reference states the range of each request key`(_ key: ViewRequest.Key) throws {
    let rows = try ReferenceChapter("requests.md").rows("## Keys")
    let row = try #require(rows.first { $0[0] == "`\(key.rawValue)`" })
    // `a number from 1 to 604800 seconds`
    let words = key.expectation().split(separator: " ").dropFirst(3).prefix(3).joined(separator: " ")
    #expect(row[1].hasPrefix(words), "\(key.expectation())")
  }
}

extension Substring {
  /// The texts that stand before each occurrence of a text.
  fileprivate func components(before text: String) -> [Substring] {
    var parts: [Substring] = []
    var rest = self
    while let range = rest.firstRange(of: text) {
      parts.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return parts
  }
}
