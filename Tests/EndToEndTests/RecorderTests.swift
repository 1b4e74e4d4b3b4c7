import FoundationEssentials
import Glibc
import HardwareIO
import MCAP
import TestSupport
import Testing

/// A hub's recordings, for later readers.
@Suite(.serialized, .timeLimit(.minutes(10))) final class RecorderTests {
  private let temporary = TemporaryFolder("recorder")
  private var root: String { temporary.path }
  private var folder: String { root + "/recordings" }

  private var names: [String] { Files.names(in: folder) }

  private func board(_ more: String = "") -> String {
    HubProcess.simulatedBoard("record: { path: \"\(folder)\", syncSeconds: 0.2\(more) }")
  }

  private struct Recorded {
    var isWhole: Bool
    var topics: Set<String> = []
    var messages: [String: [MCAPMessage]] = [:]

    init(_ path: String) throws {
      let reader = try MCAPReader(path: path)
      isWhole = reader.isIndexed && reader.damage == nil
      for channel in reader.summary.channels.values {
        topics.insert(channel.topic)
        var messages = reader.messages(channelIDs: [channel.id])
        while let message = try messages.next() { self.messages[channel.topic, default: []].append(message) }
      }
    }

    func texts(_ topic: String) -> [String] {
      (messages[topic] ?? []).map { String(decoding: $0.data, as: UTF8.self) }
    }
  }

  /// A recording's present contents, complete or not; `nil` without a readable file.
  private func recorded(_ index: Int = 0) -> Recorded? {
    names.indices.contains(index) ? try? Recorded("\(folder)/\(names[index])") : nil
  }

  /// Blocks until the first recording meets a condition, which is checked again after each write.
  private func records(_ isMet: (Recorded) -> Bool) -> Bool {
    FileChanges.wait(in: root, folder) { recorded().map { isMet($0) } ?? false }
  }

  private func recordsStates(_ count: Int) -> Bool { records { ($0.messages["/state"]?.count ?? 0) > count } }

  private struct Stamp: Decodable { var monotonic: Double }

  private func byStamp(_ states: [String]) -> [Double: String] {
    states.reduce(into: [:]) { states, text in
      if let stamp = try? JSONDecoder().decode(Stamp.self, from: Data(text.utf8)) { states[stamp.monotonic] = text }
    }
  }

  @Test func `awake devices are recorded completely, and sleeping ones are not recorded`() throws {
    let hub = HubProcess(board: board())
    #expect(hub.comesToRest())
    #expect(names.isEmpty)
    let client = SocketClient(path: hub.socket)
    client.send("{\"rateHz\": 1000}\n")
    #expect(client.receives("\"mode\":\"fused\""))
    let served = client.lineCount
    #expect(client.receives(lineCount: served + 61))
    #expect(records { ($0.messages["/fix"]?.count ?? 0) > 5 })
    // The recorder only observed.
    #expect(hub.devicesNow["gps"].holders.allSatisfy { !$0.contains("recorder") })
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 1)
    #expect(hub.stop() == 0)
    #expect(names.count == 1)
    let path = "\(folder)/\(names[0])"
    try MCAPReader(path: path).check()
    let file = try Recorded(path)
    #expect(file.isWhole)
    #expect(
      file.topics == [
        "/clock", "/fix", "/fusion", "/imu/imu/batch", "/log", "/power", "/receiver/gps/epoch", "/receiver/gps/raw",
        "/state",
      ])

    let sent = byStamp(client.text.split(separator: "\n").map(String.init))
    let states = byStamp(file.texts("/state"))
    let both = Set(sent.keys).intersection(states.keys)
    #expect(both.count > 10, "\(states.count) recorded, \(sent.count) sent")
    for stamp in both { #expect(states[stamp] == sent[stamp]) }

    let sentences = file.texts("/receiver/gps/raw")
    #expect(sentences.allSatisfy { $0.hasPrefix("$") && $0.hasSuffix("\r\n") })
    for batch in file.messages["/imu/imu/batch"] ?? [] {
      let data = Array(batch.data)
      let count = data[..<4].reversed().reduce(0) { $0 << 8 | Int($1) }
      let first = data[12..<20].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      #expect(count > 0 && data.count == 12 + 32 * count && first == batch.publishTimeNanoseconds)
    }
    let power = file.texts("/power")
    #expect(power.contains { $0.contains("\"id\":\"gps\"") && $0.contains("\"power\":\"tracking\"") })
    #expect(power.contains { $0.contains("\"id\":\"imu\"") && $0.contains("\"power\":\"off\"") })
    #expect(file.texts("/log").contains { $0.contains("gps: tracking") && $0.contains("\"name\":\"gps\"") })
    let reader = try MCAPReader(path: path)
    let metadata = try reader.summary.metadata.map { try reader.metadata($0) }
    #expect(metadata.first { $0.name == "board" }?.entries["file"] == board())
    #expect(metadata.first { $0.name == "sensorhub" }?.entries["version"] == "0.2.0")
    for (topic, messages) in file.messages {
      let times = messages.map(\.logTimeNanoseconds)
      #expect(times == times.sorted(), "\(topic)")
      #expect(messages.map(\.sequence) == (0..<UInt32(messages.count)).map { $0 }, "\(topic)")
    }
  }

  @Test func `the recording of a killed hub is completed by the next one`() throws {
    let hub = HubProcess(board: board())
    let client = SocketClient(path: hub.socket)
    #expect(recordsStates(10))
    let before = recorded()?.texts("/state") ?? []
    #expect(hub.stop(SIGKILL) != 0)
    client.leave()
    #expect(recorded()?.isWhole == false)
    let next = HubProcess(board: board())
    #expect(next.logs("is repaired"), "\(next.program.standardError)")
    try MCAPReader(path: "\(folder)/\(names[0])").check()
    #expect(recorded()?.isWhole == true)
    #expect(recorded()?.texts("/state").starts(with: before) == true)
    #expect(next.stop() == 0)
  }

  @Test func `a folder that cannot be written to is reported once, and clients are still served`() {
    // No user can create a folder there, not even root.
    let hub = HubProcess(board: HubProcess.simulatedBoard("record: { path: \"/proc/recordings\", syncSeconds: 0.1 }"))
    let client = SocketClient(path: hub.socket)
    #expect(hub.logs("recording stopped"))
    #expect(client.receives("\"mode\":\"fused\""))
    let served = client.lineCount
    #expect(client.receives(lineCount: served + 41))
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
    #expect(hub.program.standardError.split(separator: "recording stopped").count == 2)
  }

  @Test func `a recorder with the key wakes keeps the devices awake, and a reload ends only what has changed`() throws {
    let hub = HubProcess(board: board(", wakes: true"))
    #expect(recordsStates(5))
    for id in ["gps", "imu"] { #expect(hub.devicesNow[id].holders.contains { $0.hasPrefix("recorder") }) }
    HubProcess.write(board(", wakes: true").replacing("\"vehicle\"", with: "\"free\""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("reloaded"))
    let states = recorded()?.messages["/state"]?.count ?? 0
    #expect(recordsStates(states + 5))
    #expect(names.count == 1)
    HubProcess.write(HubProcess.simulatedBoard(""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.comesToRest())
    #expect(records { $0.isWhole })
    try MCAPReader(path: "\(folder)/\(names[0])").check()
    #expect(hub.stop() == 0)
  }

  @Test func `a receiver that a reload leaves unchanged loses no sentence`() throws {
    let terminal = PseudoTerminal()
    func board(_ motion: String) -> String {
      """
      { name: "test", motion: "\(motion)",
        devices: { gps: { driver: "nmea", port: "\(terminal.path)",
          power: { switch: "gpio", chip: "simulated", line: "gps-power", lingerSeconds: 60 } } },
        record: { path: "\(folder)", wakes: true } }
      """
    }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    func sentence(_ second: Int) -> String {
      nmeaLine("GPRMC,\(two(second / 3600))\(two(second / 60 % 60))\(two(second % 60)),V,,,,,,,010126,,,N")
    }
    let hub = HubProcess(board: board("vehicle"))
    #expect(hub.shows("gps", "acquiring"))
    var count = 0
    // Sends as fast as the hub reads, with an occasional pause in which everything is written.
    func speak(until isDone: () -> Bool) {
      for turn in 1...4000 {
        terminal.write(sentence(count))
        count += 1
        if turn.isMultiple(of: 100), isDone() { return }
        if turn.isMultiple(of: 500) { #expect(eventually { terminal.isRead }) }
      }
      #expect(eventually { isDone() })
    }
    func reloadCount() -> Int { hub.program.standardError.split(separator: "board 'test' reloaded").count - 1 }
    speak { self.recorded() != nil }
    for reload in 1...20 {
      HubProcess.write(board(reload.isMultiple(of: 2) ? "vehicle" : "free"), to: hub.boardFile)
      hub.program.send(SIGHUP)
      speak { reloadCount() == reload }
      #expect(eventually { terminal.isRead })
    }
    #expect(hub.stop() == 0)
    let sentences = try Recorded("\(folder)/\(names[0])").texts("/receiver/gps/raw").joined()
      .split(separator: "\r\n").map { String($0) + "\r\n" }
    let sent = (0..<count).map(sentence)
    let first = try #require(sentences.first.flatMap(sent.firstIndex(of:)))
    #expect(sentences.count > count / 2)
    let isWhole = sentences == Array(sent[first...].prefix(sentences.count))
    #expect(isWhole)
  }

  @Test func `check states the limits of a recorder, and refuses invalid ones`() {
    func check(_ record: String) -> Program {
      HubProcess.write("{ name: \"test\", record: { \(record) } }", to: root + "/board.json5")
      let program = Program(["check", root + "/board.json5"])
      program.wait()
      return program
    }
    let right = check("path: \"\(folder)\", maximumMegabytes: 50, maximumAgeHours: 12, wakes: true")
    #expect(right.wait() == 0)
    #expect(
      right.standardOutput.contains(
        "recording to \(folder), at most 50 MB of the last 12 h 00 min, on the disk within 5.0 s, "
          + "keeping the devices awake"), "\(right.standardOutput)\(right.standardError)")
    let compressed = check("path: \"\(folder)\", compression: \"zstd\"")
    #expect(compressed.wait() == 0)
    #expect(compressed.standardOutput.contains("at most 1000 MB, compressed with zstd, on the disk"))
    #expect(compressed.standardError.isEmpty, "\(compressed.standardError)")
    for (record, reason) in [
      ("path: \"\(folder)\", compression: \"gzip\"", "'record.compression' must be \"none\" or \"zstd\""),
      ("path: \"recordings\"", "'record.path' must be an absolute path"),
      ("path: \"\(root)/board.json5\"", "'record.path' must be a folder"),
      ("path: \"\(folder)\", maximumMegabytes: 1", "a whole number from 4"), ("maximumMegabytes: 50", "missing"),
      ("path: \"\(folder)\", sync: 5", "unknown key 'record.sync'"),
    ] {
      let wrong = check(record)
      #expect(wrong.wait() == 65)
      #expect(wrong.standardError.contains(reason), "\(wrong.standardError)")
    }
  }
}
