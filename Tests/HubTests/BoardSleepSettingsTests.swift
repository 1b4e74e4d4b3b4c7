import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// The section `sleep` of a board file.
struct BoardSleepSettingsTests {
  private func board(_ sleep: String, _ others: String = "") throws -> Board {
    try Board(json5: Array("{ name: 'x', devices: {},\(others)\n sleep: \(sleep) }".utf8), file: "board")
  }

  @Test func `a board sleeps by the alarm of its real-time clock, or by a command`() throws {
    let usual = try #require(try board("{ board: 'suspend' }").sleep)
    #expect(usual == BoardSleepSettings(.suspend))
    #expect(usual.rtc == "/dev/rtc0" && usual.idle == .seconds(30) && usual.keepers == [.users])
    #expect(usual.afterStart == .seconds(300) && !usual.sleepsWithoutEnd)
    let command = try #require(
      try board(
        "{ board: 'poweroff', command: ['/usr/local/bin/wake', '{wake}'], idle: 60, afterStart: 0, keep: ['gpsd'] }"
      ).sleep)
    #expect(command.rtc == nil && command.command == ["/usr/local/bin/wake", "{wake}"])
    #expect(command.keepers == [.gpsd] && command.afterStart == .zero && command.idle == .seconds(60))
    #expect(
      command.description
        == "sleep: after 60 s in which nothing needs the board, it is switched off until the next fix; "
        + "/usr/local/bin/wake is told when it must wake; clients of gpsd keep it awake")
    #expect(try board("{ board: 'suspend', rtc: '/dev/rtc1' }").sleep?.rtc == "/dev/rtc1")
    #expect(try board("null").sleep == nil)
  }

  @Test(arguments: [
    ("{}", "board:2: 'sleep.board' is missing"),
    ("{ board: 'hibernate' }", "'sleep.board' must be one of 'suspend', 'poweroff'"),
    ("{ board: 'suspend', rtc: 'rtc0' }", "'sleep.rtc' must be the device file of a real-time clock"),
    ("{ board: 'suspend', rtc: '/dev/../rtc0' }", "'sleep.rtc' must be the device file of a real-time clock"),
    (
      "{ board: 'suspend', rtc: '/sys/class/rtc/rtc0' }",
      "'sleep.rtc' must be the clock's device file, such as \"/dev/rtc0\": the hub's user may not set"
    ),
    ("{ board: 'suspend', idle: 1 }", "'sleep.idle' must be a number from 5 to 86400"),
    ("{ board: 'suspend', afterStart: -1 }", "'sleep.afterStart' must be a number from 0 to 86400"),
    ("{ board: 'suspend', keep: ['ssh'] }", "'sleep.keep' must be a list of some of users, gpsd"),
    ("{ board: 'suspend', command: ['wake'] }", "'sleep.command' must be a list of a program's absolute path"),
    ("{ board: 'suspend', command: [] }", "'sleep.command' must be a list of a program's absolute path"),
    ("{ board: 'suspend', withoutEnd: 1 }", "'sleep.withoutEnd' must be"),
    ("{ board: 'suspend', idel: 5 }", "unknown key 'sleep.idel'"),
  ])
  func `a mistake in the section is reported with its line, its key and the valid values`(
    _ sleep: String, _ message: String
  ) {
    let error = #expect(throws: BoardError.self) { try board(sleep) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }

  @Test func `check warns of a board that never sleeps`() throws {
    func warnings(_ sleep: String, _ others: String) throws -> [String] {
      BoardWarnings.sleep(of: try board(sleep, others))
    }
    let log = "requests: [{ name: 'log', every: 600 }],"
    #expect(try warnings("{ board: 'poweroff' }", log).isEmpty)
    #expect(try warnings("null", "").isEmpty)
    #expect(try warnings("{ board: 'poweroff' }", "").first?.contains("no request and no fence") == true)
    #expect(try warnings("{ board: 'poweroff', withoutEnd: true }", "").isEmpty)
    #expect(
      try warnings("{ board: 'poweroff' }", log + "journal: { state: true },").first?.contains("journal.state keeps")
        == true)
    #expect(
      try warnings("{ board: 'poweroff' }", "requests: [{ name: 'log', every: 60 }],").first?.contains("raise 'every'")
        == true)
  }

  @Test func `check warns of requests and sensors that rely on a board that is awake`() throws {
    let imu =
      "imu: { driver: 'lsm6dsox', bus: '/dev/i2c-1', dataReady: { chip: 'c', line: 'ready' }, power: { switch: 'gpio', "
      + "chip: 'c', line: 'imu' } }"
    func warnings(_ way: String, _ request: String, _ devices: String) throws -> [String] {
      let text =
        "{ name: 'x', devices: { \(devices) }, requests: [{ name: 'log', \(request) }], "
        + "sleep: { board: '\(way)' } }"
      return BoardWarnings.sleep(of: try Board(json5: Array(text.utf8), file: "board"))
    }
    let steps = "the board is suspended only while all lines are low: set its 'wakeOnMotion' to false"
    #expect(try warnings("suspend", "every: 600", imu).first?.hasSuffix(steps) == true)
    #expect(try warnings("poweroff", "every: 600", imu).isEmpty)
    #expect(try warnings("poweroff", "error: 25", imu).first?.contains("relies on the inertial sensor") == true)
    let quick = try warnings("poweroff", "error: 25", "")
    #expect(quick.first?.contains("a fix at least every 6 s") == true, "\(quick)")
    #expect(try warnings("poweroff", "error: 5000", "").isEmpty)
  }

  @Test func `check warns of a machine that cannot sleep`() throws {
    let tree = MachineTree()
    tree.add("/proc/device-tree/model", "Raspberry Pi 5 Model B\0")
    let board = try board("{ board: 'suspend' }")
    let warnings = BoardWarnings.sleep(of: board, on: tree.files, clock: nil)
    #expect(warnings == ["sleep: a Raspberry Pi cannot suspend to RAM: board: \"poweroff\""])
  }
}
