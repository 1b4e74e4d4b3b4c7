import CLinux
import Glibc
import Hub
import TestSupport
import Testing

@testable import Outputs

struct BoardProblemsTests {
  private func board(_ sections: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(sections) }".utf8), file: "board")
  }

  @Test func `a board with simulated devices must not put this machine to sleep`() throws {
    func problems(_ port: String) throws -> [BoardProblem] {
      let text = """
        { name: 'x', devices: { gps: { driver: 'nmea', port: '\(port)' } },
          requests: [{ name: 'log', every: 600 }], sleep: { board: 'suspend' } }
        """
      return BoardProblems.find(in: try Board(json5: Array(text.utf8), file: "test"))
    }
    #expect(try problems("/dev/serial0").isEmpty)
    let problem = try #require(try problems("simulated/gps").first)
    #expect(problem.key == "sleep" && problem.text.contains("simulated devices, such as 'gps'"))
  }

  @Test func `a Signal K server that is named twice, and its files, are reported`() throws {
    let problems = BoardProblems.find(
      in: try board(
        """
        signalk: [{ server: 'ws://b', tokenFile: '/etc/hostname' }, { server: 'ws://b:3000' },
          { server: 'wss://b', caFile: '/nowhere/ca.pem' }]
        """)
    ).map { "\($0)" }
    #expect(
      problems.contains { $0.hasPrefix("'signalk[0].tokenFile' cannot be read from /etc/hostname: a board file may") })
    #expect(problems.contains("'signalk[1].server' is ws://b:3000, which 'signalk[0]' already uses"))
    #expect(problems.contains { $0.hasPrefix("'signalk[2].caFile' cannot be read from /nowhere/ca.pem: ") })
    #expect(problems.count == 3, "\(problems)")
  }

  @Test func `an autopilot at the port of a receiver, and parts that no device measures, are reported`() throws {
    let problems = BoardProblems.find(
      in: try board(
        """
        devices: { gps: { driver: 'nmea', port: '/dev/tty' } },
        mavlink: { port: '/dev/../dev/tty', keepsAwake: true, parts: ['pressure'] },
        signalk: { server: 'ws://b', keepsAwake: true, parts: ['pressure'] }
        """)
    ).map { "\($0)" }
    #expect(problems.contains("'mavlink.port' is at /dev/../dev/tty, where 'devices.gps' is already"), "\(problems)")
    #expect(problems.contains("'mavlink.parts' is pressure, which no device of this board measures"), "\(problems)")
    #expect(problems.contains("'signalk.parts' is pressure, which no device of this board measures"), "\(problems)")
  }

  /// With one report for each pair of devices, and an access to the disk for each, the check of a long board file took
  /// minutes.
  @Test func `each device that conflicts with an earlier one is reported once`() throws {
    let devices = (0..<200).map { index in
      """
      d\(index): { driver: 'mpu-6050', bus: '/dev/i2c-1', dataReady: { chip: 'c', line: '1' },
        power: { switch: 'gpio', chip: 'c', line: '2', activeLow: \(index == 0) } }
      """
    }
    let problems = BoardProblems.find(in: try board("devices: { \(devices.joined(separator: ",")) }")).map { "\($0)" }
    #expect(problems.count { $0.contains("is at 0x68 on /dev/i2c-1, where 'devices.d0' is already") } == 199)
    #expect(problems.count { $0.contains("is the line") && $0.contains("already uses") } == 199)
    #expect(problems.count { $0.contains("with another 'activeLow' than 'devices.d0.power'") } == 199)
    #expect(problems.count == 3 * 199, "\(problems.prefix(5))")
  }

  @Test func `a board file cannot use any user's file as a password`() throws {
    let folder = TemporaryFolder("secret")
    let file = folder.path + "/key"
    HubProcess.write("another program's own\n", to: file)
    let board = try board(
      """
      mqtt: { broker: 'mqtts://b', username: 'a', passwordFile: '\(file)' }, devices: { gps: { driver: 'nmea',
        port: '/p', ntrip: { caster: 'ntrip://me@c/M', passwordFile: '\(file)' } } }
      """)
    let problems = BoardProblems.find(in: board).map { "\($0)" }
    for key in ["mqtt.passwordFile", "devices.gps.ntrip.passwordFile"] {
      #expect(
        problems.contains {
          $0.hasPrefix("'\(key)' cannot be read from \(file): a board file may name passwords only in")
        })
    }
    let fleet = try #require(board.fleet)
    #expect(throws: FleetError.self) { try MQTTOptions(fleet, identifier: "x", subscriptions: []) }
    // A user may name the file on the command line.
    var own = FleetSettings(broker: fleet.broker)
    (own.username, own.passwordFile) = ("a", file)
    #expect(try MQTTOptions(own, identifier: "x", subscriptions: []).passwordFile == file)
  }

  @Test func `a file that only the service can read is not reported to a user who may not read it`() throws {
    let board = try board(
      """
      http: { tokenFile: '/etc/sensorhub/none-t' },
        mqtt: { broker: 'mqtts://b', username: 'a', passwordFile: '/etc/sensorhub/none-p' },
        devices: { gps: { driver: 'nmea', port: '/p', ntrip: { caster: 'ntrip://me@c/M',
          passwordFile: '/etc/sensorhub/none-n' } } }
      """)
    let files = ["t", "p", "n"].map { "/etc/sensorhub/none-\($0)" }
    let keys = BoardProblems.find(in: board, isForServiceAlone: { _ in false }).map(\.key)
    #expect(keys == ["http", "mqtt", "devices.gps.ntrip.passwordFile"])
    #expect(BoardProblems.find(in: board, isForServiceAlone: { files.contains($0) }).isEmpty)
  }

  @Test(
    arguments: [
      (7, 0o600, true), (7, 0o077, false), (1, 0o640, true), (1, 0o604, false), (2, 0o604, true), (2, 0o640, false),
    ] as [(UInt32, UInt32, Bool)])
  func `an account reads a file by its owner, else its group, else its mode for all`(
    _ place: UInt32, _ mode: UInt32, _ isReadable: Bool
  ) {
    // The file is the account's own, its group's, or neither's.
    var status = stat()
    (status.st_uid, status.st_gid, status.st_mode) = (place == 7 ? 7 : 0, place == 1 ? 50 : 0, S_IFREG | mode)
    #expect(ServiceFiles.may(7, inGroups: [7, 50], read: status) == isReadable)
  }

  @Test func `reports of many hubs are limited to the available room`() {
    var fleet = FleetListing(topic: "t", mostBytes: 1000)
    func say(_ hub: String, _ count: Int) -> String? {
      fleet.take("t/\(hub)/health", Array("{\"board\":\"\(String(repeating: "x", count: count - 12))\"}".utf8))
    }
    #expect(say("a", 400) == "a")
    #expect(say("b", 400) == "b")
    #expect(say("c", 400) == nil)
    // A removed report makes room, and an existing one is replaced.
    #expect(fleet.take("t/a/health", []) == "a")
    #expect(say("c", 400) == "c")
    #expect(say("c", 100) == "c")
    fleet.forget("b")
    #expect(say("d", 800) == "d")
    var usual = FleetListing(topic: "t")
    let long = "{\"board\":\"\(String(repeating: "x", count: FleetHub.mostReportBytes))\"}"
    #expect(usual.take("t/a/health", Array(long.utf8)) == nil)
  }

  @Test func `a pipe in place of a state file does not block the hub`() {
    struct Content: Codable, Equatable { var number = 0 }
    let folder = TemporaryFolder("state")
    mkfifo(folder.path + "/file", 0o600)
    let file = StateFile(path: folder.path + "/file", mostBytes: 100, nothing: Content()) {}
    #expect(file.content == Content())
    file.change { $0.number = 5 }
    #expect(file.content.number == 5)
  }
}
