import ArgumentParser
import FoundationEssentials
import Glibc
import MonotonicTime
import Outputs

/// Tests the devices of a running hub one after the other, and writes a report.
struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Verify each device of a running hub: identity, measurements, errors, power cycles.",
    discussion: """
      The command wakes each device alone, as a client does, and measures the time to its first measurement. It checks \
      the rate, the mean and the noise against what a board at rest must measure (gravity, the Earth's field, the air \
      pressure). Then it releases the device, waits until the hub has switched it off, and wakes it again, --cycles \
      times in all. Give a receiver a view of the sky.

      The report contains the chips, the kernel and the machine's model, but not the board's position. Devices that other \
      clients hold are measured, but not switched off and on.

      Example: sensorhub verify --cycles 20 --report report.json
      """)

  @Option(
    help: ArgumentHelp("Verify only the device with this name in the board file; may be given again.", valueName: "id"))
  var device: [String] = []

  @Option(help: ArgumentHelp("How many times to power each device, 1 to 100.", valueName: "number"))
  var cycles = 3

  @Option(help: ArgumentHelp("How long to measure in the first cycle, 1 to 3600.", valueName: "seconds"))
  var seconds = 10.0

  @Option(
    help: ArgumentHelp(
      "How long to wait for the first measurement and for power off, 1 to 3600.", valueName: "seconds"))
  var within = 120.0

  @Flag(help: "Print the report as JSON.")
  var json = false

  @Option(help: ArgumentHelp("Also write the report as JSON to this file.", valueName: "file"))
  var report: String?

  @Option(help: ArgumentHelp("The hub's state socket; devices.sock is next to it.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if !(1...100).contains(cycles) { throw ValidationError("--cycles must be from 1 to 100") }
    if !(1...3600).contains(seconds) { throw ValidationError("--seconds must be from 1 to 3600") }
    if !(1...3600).contains(within) { throw ValidationError("--within must be from 1 to 3600") }
  }

  /// The parts of the hub's report about a device that are used here.
  private struct Device: Decodable {
    var id, kind, title, power: String
    var holders: [String]
    var origin: String?
    var counters: [String: Int]
    var conditions: [ConditionReport]?
  }

  private struct Answer: Decodable { var devices: [Device] }

  private func devices() throws -> [Device] {
    let line = try DevicesOfHub.line(socket)
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)) else {
      throw CommandError(
        .inputOutput, "the hub's answer cannot be understood",
        nextStep: "check that sensorhub and the hub have the same version")
    }
    return answer.devices
  }

  func run() throws {
    let all = try devices()
    if let unknown = device.first(where: { name in !all.contains { $0.id == name } }) {
      throw CommandError(
        .noInput, "the hub has no device '\(unknown)'",
        nextStep: "name one of \(all.map(\.id).joined(separator: ", "))")
    }
    // Make the file before the devices wake, so that an error appears at once.
    let file = try report.map { try ExportOutput(path: $0, replaces: false) }
    var results: [DeviceVerification] = []
    for one in all where device.isEmpty || device.contains(one.id) {
      if !json { Terminal.standardError("verifying \(one.id) …") }
      let result = try verify(one)
      results.append(result)
      if !json { for line in result.lines { Terminal.standardOutput(line) } }
    }
    let text = Verify.text(of: results)
    if json { Terminal.standardOutput(json: text) }
    if let file {
      do {
        try Array((text + "\n").utf8).withUnsafeBytes { try file.write($0) }
      } catch {
        throw CommandError(.inputOutput, "cannot write \(file.name): \(error)")
      }
      try file.finish()
    }
    let failed = results.map(\.failedCount).reduce(0, +)
    let count = results.map(\.checks.count).reduce(0, +)
    guard failed == 0 else {
      throw CommandError(
        .unavailable, "\(failed) of \(count) checks failed", nextStep: "sensorhub devices shows the reason")
    }
    guard !json else { return }
    let unchecked = results.map { $0.checks.count { $0.passed == nil } }.reduce(0, +)
    Terminal.standardOutput(
      unchecked == 0 ? "all \(count) checks passed" : "\(count - unchecked) checks passed, \(unchecked) were not made")
  }

  private func verify(_ device: Device) throws -> DeviceVerification {
    var result = DeviceVerification(id: device.id, kind: device.kind, title: device.title, origin: device.origin)
    let parts = DeviceVerification.parts(of: device.kind)
    for cycle in 1...cycles {
      var substitutes: String?
      guard let first = try measure(parts, for: cycle == 1 ? seconds : 0, &result, &substitutes) else {
        if let substitutes {
          let words = "the hub uses \(Text.printable(substitutes)) instead, so it does not wake \(device.id)"
          result.checks.append(.init(name: "measures", passed: nil, words: words))
          break
        }
        let reason = try current(device.id)?.conditions?.first.map { ": \($0.summary)" }
        result.checks.append(
          .init(
            name: "measures", passed: false,
            words: "no measurement within \(Text.duration(seconds: within)) in cycle \(cycle)" + (reason ?? "")))
        break
      }
      result.firstValueSeconds.append(first)
      guard let rests = try rests(device.id) else {
        result.checks.append(.init(name: "power cycles", passed: nil, words: "other clients hold it"))
        break
      }
      if !rests {
        result.checks.append(
          .init(name: "power cycles", passed: false, words: "not off within \(Text.duration(seconds: within))"))
        break
      }
      if cycle == cycles {
        result.checks.append(.init(name: "power cycles", passed: true, words: "\(cycles) times on and off"))
      }
    }
    if let after = try current(device.id) {
      for (name, count) in after.counters where count > device.counters[name] ?? 0 {
        result.counters[name] = count - (device.counters[name] ?? 0)
      }
    }
    result.judge()
    return result
  }

  private func current(_ id: String) throws -> Device? { try devices().first { $0.id == id } }

  /// Wakes the devices that measure some parts of the state, collects their values, and releases the devices.
  ///
  /// - Parameters:
  ///   - time: how long to measure after the first value, in seconds; 0 to wait only for the first value
  ///   - substitutes: set to the devices whose values arrived instead
  /// - Returns: the time until the first value, in seconds; `nil` if no value arrived in time
  private func measure(
    _ parts: [String], for time: Double, _ result: inout DeviceVerification, _ substitutes: inout String?
  ) throws -> Double? {
    guard !parts.isEmpty else { return nil }
    var connection = try HubConnection.open(socket) { $0.state }
    let names = parts.map { "\"\($0)\"" }.joined(separator: ", ")
    let clock = MonotonicClock()
    let start = clock.now
    connection.send("{\"rateHz\": 100, \"parts\": [\(names)], \"name\": \"verify\"}")
    var first: Double?
    var deadline = start + .milliseconds(Int64(within * 1000))
    while case .text(let line) = connection.nextLine(by: deadline) {
      guard let state = try? JSONDecoder().decode(VerifiedState.self, from: Data(line)) else { continue }
      // Values that are older than this request were measured for other clients.
      let since = Double(start.nanoseconds) / 1e9
      guard result.has(state, since: since) else {
        if first == nil, substitutes == nil, let others = result.substitutes(in: state, since: since) {
          substitutes = others
          deadline = min(deadline, clock.now + Verify.substituteTime)
        }
        continue
      }
      if time > 0 { result.take(state) }
      guard first == nil else { continue }
      first = (clock.now - start).inSeconds
      if time == 0 { break }
      deadline = clock.now + .milliseconds(Int64(time * 1000))
    }
    return first
  }

  /// How long to wait for a device after another one's values have arrived.
  private static let substituteTime = Duration.seconds(5)

  /// How long after a release the hub may still count this command as a holder. Any holders after that are other
  /// clients.
  private static let releaseTime = Duration.seconds(2)

  /// Waits until a device no longer measures. Returns whether it stopped in time; `nil` if other clients keep it awake.
  private func rests(_ id: String) throws -> Bool? {
    let clock = MonotonicClock()
    let releasedAt = clock.now
    let deadline = releasedAt + .milliseconds(Int64(within * 1000))
    var isHeld = false
    while clock.now < deadline {
      guard let device = try current(id) else { return false }
      if ["off", "asleep", "awake"].contains(device.power) { return true }
      isHeld = !device.holders.isEmpty
      if isHeld, clock.now - releasedAt > Verify.releaseTime { return nil }
      // The device is still on for its idle timeout, or other clients hold it.
      usleep(100_000)
    }
    return isHeld ? nil : false
  }

  private static func text(of results: [DeviceVerification]) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("class", literal: "VERIFICATION")
    json.member("version", SensorHub.versionWithCommit)
    var system = utsname()
    if uname(&system) == 0 {
      json.member("kernel", Verify.text(&system.release))
      json.member("machine", Verify.text(&system.machine))
    }
    json.member("model", Verify.model)
    json.key("devices")
    json.beginArray()
    for result in results { result.write(to: &json) }
    json.endArray()
    json.endObject()
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private static func text<Field>(_ field: inout Field) -> String {
    withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// The board's model, for example `Raspberry Pi 4 Model B Rev 1.4`; `nil` on a machine without a device tree.
  private static var model: String? {
    guard let file = fopen("/proc/device-tree/model", "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count].prefix { $0 != 0 }, as: UTF8.self)
  }
}
