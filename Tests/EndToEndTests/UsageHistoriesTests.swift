import Glibc
import HardwareIO
import TestSupport
import Testing

/// The energy accounts of devices across runs of the hub.
@Suite(.timeLimit(.minutes(10)))
final class UsageHistoriesTests {
  private let temporary = TemporaryFolder("usage")
  private var folder: String { temporary.path }

  private func hub() -> HubProcess {
    HubProcess(board: HubProcess.simulatedBoard(""), environment: ["STATE_DIRECTORY=\(folder)"])
  }

  private func devices(_ arguments: [String], of hub: HubProcess) -> String {
    let program = Program(["devices", "--verbose", "--socket", hub.socket] + arguments)
    program.wait()
    return program.standardOutput
  }

  @Test func `energy per client and the durations of starts are known after a restart`() throws {
    let first = hub()
    for _ in 0..<2 {
      let watch = Program(["watch", "--socket", first.socket, "--json"])
      // By then the hub has received the client's name, which the energy per client uses.
      let isThere = eventually {
        let gps = first.devicesNow["gps"]
        return gps.power == "tracking" && gps.holders == ["watch[\(watch.pid)]"]
      }
      #expect(isThere)
      watch.send(SIGTERM)
      watch.wait()
      #expect(first.comesToRest())
    }
    #expect(devices(["--bills"], of: first).contains("%  watch\n"))
    first.stop()
    #expect(Files.names(in: folder) == ["power.json", "power.lock"])
    let second = hub()
    #expect(second.devicesNow["gps"].wakes == 0)
    let text = devices(["--since", "day", "--explain"], of: second)
    let gps = text.components(ofDevice: "gps")
    // The table has a line for each client, with the energies aligned and followed by the shares.
    let table = gps.drop { !$0.hasPrefix("  day ") }
    #expect(table.first?.hasSuffix(" mWh in the last 24 hours") == true, "\(text)")
    let rows = table.dropFirst().prefix { $0.hasPrefix("             ") }.map { $0.split(separator: " ") }
    #expect(rows.allSatisfy { $0.count == 4 && Double($0[0]) != nil && $0[2] == "%" }, "\(text)")
    #expect(Set(["watch", "(linger)"]).isSubset(of: rows.map { $0[3] }), "\(text)")
    let energies = rows.compactMap { Double($0[0]) }
    #expect(energies == energies.sorted(by: >), "\(text)")
    // A client that is delayed before its request counts as two visitors, and a delayed receiver gets another start.
    #expect(gps.contains { $0.contains(/a hot start takes .*, from [1-9]\d* starts?$/) }, "\(text)")
    #expect(gps.contains { $0.contains(/gaps between clients, [1-9]\d* so far/) }, "\(text)")
    second.stop()
  }

  @Test func `a damaged file is reported and kept, and the hub starts with no history`() {
    HubProcess.write("{ \"version\": 1, \"devices\": { \"gps\": {", to: "\(folder)/power.json")
    let hub = hub()
    #expect(
      hub.logs("\(folder)/power.json:1") && hub.logs(".damaged"))
    hub.stop()
    #expect(Files.names(in: folder) == ["power.json", "power.json.damaged", "power.lock"])
    // A second damaged file does not replace the first.
    let first = try? Files.bytes(of: "\(folder)/power.json.damaged")
    HubProcess.write("second {", to: "\(folder)/power.json")
    let next = self.hub()
    #expect(next.logs("\(folder)/power.json.damaged-2"))
    next.stop()
    #expect(first != nil && (try? Files.bytes(of: "\(folder)/power.json.damaged")) == first)
    #expect((try? Files.bytes(of: "\(folder)/power.json.damaged-2")) == Array("second {".utf8))
  }

  @Test func `a history file too large to read is kept under another name, and reported once`() {
    // No text that this program writes is this long.
    HubProcess.write(Array(repeating: 0x20, count: 17 << 20), to: "\(folder)/power.json")
    let hub = hub()
    #expect(hub.logs("\(folder)/power.json.damaged"))
    hub.stop()
    #expect(hub.program.standardError.split(separator: "\n").count { $0.contains(".damaged") } == 1)
    #expect(Files.names(in: folder) == ["power.json", "power.json.damaged", "power.lock"])
    #expect((try? Files.bytes(of: "\(folder)/power.json.damaged").count) == 17 << 20)
  }

  @Test func `a second hub in the same folder says so, and leaves the usage histories to the first`() {
    let first = hub()
    let second = hub()
    #expect(second.logs("another hub stores its history in \(folder)"))
    #expect(!first.program.standardError.contains("another hub"))
    second.stop()
    #expect(Files.names(in: folder) == ["power.lock"])
    first.stop()
    #expect(Files.names(in: folder) == ["power.json", "power.lock"])
    // When the first hub ends, the folder is free.
    let third = hub()
    third.stop()
    #expect(!third.program.standardError.contains("another hub"))
  }

  @Test func `a second hub in the same folder does not change the first hub's times of supplies`() {
    func hub() -> HubProcess {
      let board = """
        { name: "test", devices: { gps: { driver: "nmea", port: "simulated/gps",
          power: { switch: "gpio", chip: "simulated", line: "gps-power", minimumOffSeconds: 1 } } } }
        """
      return HubProcess(board: board, environment: ["STATE_DIRECTORY=\(folder)"])
    }
    var text: [UInt8]? { try? Files.bytes(of: "\(folder)/supplies.json") }
    let first = hub()
    #expect(FileChanges.wait(in: folder) { text != nil })
    let kept = text
    let second = hub()
    #expect(second.logs("another hub stores its history in \(folder)"))
    second.stop()
    #expect(text == kept)
    first.stop()
    #expect(text != nil && text != kept)
  }
}

extension String {
  /// The lines of one device.
  fileprivate func components(ofDevice id: String) -> [Substring] {
    let lines = split(separator: "\n").drop { !$0.hasPrefix("\(id): ") }
    return [lines.first].compactMap { $0 } + lines.dropFirst().prefix { $0.hasPrefix(" ") }
  }
}
