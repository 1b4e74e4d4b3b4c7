import Devices
import Guarding
import TestSupport
import Testing

@testable import Hub

/// The hub's stored knowledge of its devices' power, across runs.
struct UsageHistoriesTests {
  private static let hour = Int64(3600) * 1_000_000_000

  /// A system clock that the test controls.
  private final class Wall: Sendable {
    private let hours = Guarded(500_000.0)
    var usageHistories: UsageHistories { UsageHistories { [self] in Int64(hours.withLock { $0 } * Double(hour)) } }
    func pass(_ count: Double) { hours.withLock { $0 += count } }
  }

  private let costs = LearnedIdleTimeout.Costs(watts: 0.1, assumedJoules: 3)
  private let someone = EnergyByClient.Payers(holders: ["watch[1]", "\"it's \\ mine\"[2]"])

  private func fill(_ usageHistory: UsageHistory) {
    usageHistory.learn { learned in
      for _ in 0..<12 { learned.visited(after: 9.7, lingered: nil, costs) }
      learned.restarts.started(after: 60, joules: 2.75, seconds: 27.5)
    }
    usageHistory.learnStart(behind: .backup) { $0.started(after: 60, joules: 0.25, seconds: 1.5) }
    usageHistory.charge(3, to: someone, over: 7200)
  }

  @Test func `learned values and used energy survive a restart`() throws {
    let wall = Wall()
    let (before, after) = (wall.usageHistories, wall.usageHistories)
    let usageHistory = before.usageHistory(of: "gps", "nmea /dev/ttyAMA0")
    fill(usageHistory)
    // The usage history may be requested before or after the file has been read.
    let restored = after.usageHistory(of: "gps", "nmea /dev/ttyAMA0")
    try after.restore(before.text, file: "power.json")
    let (old, new) = (usageHistory.learned.decide(costs), restored.learned.decide(costs))
    #expect(
      new.ground == .learnt && abs(new.seconds - old.seconds) < 1e-3 && new.expectedReturns == old.expectedReturns)
    #expect(abs(new.breakEvenSeconds - 27.5) < 1e-3)
    #expect(restored.starts == usageHistory.starts && restored.starts[.backup]?[.hot]?.joules == 0.25)
    let energyByClient = restored.energyByClient(ofLast: 24)
    #expect(
      energyByClient.clients.map(\.payer) == ["watch", "\"it's \\ mine\""]
        && abs(energyByClient.milliwattHours - 3) < 1e-4)
    // A day later the energy counts only for the week, and after a week no longer.
    wall.pass(30)
    #expect(
      restored.energyByClient(ofLast: 24).milliwattHours == 0
        && abs(restored.energyByClient(ofLast: 168).milliwattHours - 3) < 1e-4)
    wall.pass(168)
    #expect(restored.energyByClient(ofLast: 168).milliwattHours == 0)
    // Writing the file again gives the same contents.
    #expect(after.text == before.text)
  }

  @Test func `another device with the same name starts with no history, and a device that comes back keeps its own`()
    throws
  {
    let wall = Wall()
    let usageHistories = wall.usageHistories
    fill(usageHistories.usageHistory(of: "gps", "nmea /dev/ttyAMA0"))
    #expect(usageHistories.usageHistory(of: "gps", "nmea /dev/ttyAMA0").learned.gapCount == 12)
    let next = wall.usageHistories
    try next.restore(usageHistories.text, file: "power.json")
    // The next board file does not name the device for a while.
    _ = next.usageHistory(of: "imu", "mpu-6050 0x68 on /dev/i2c-1")
    let last = wall.usageHistories
    try last.restore(next.text, file: "power.json")
    #expect(last.usageHistory(of: "gps", "nmea /dev/ttyAMA0").learned.gapCount == 12)
    #expect(last.usageHistory(of: "gps", "nmea /dev/ttyUSB0").learned.gapCount == 0)
  }

  @Test func `values learned from another receiver's starts are dropped, and values learned from visits are kept`()
    throws
  {
    let wall = Wall()
    let usageHistories = wall.usageHistories
    let usageHistory = usageHistories.usageHistory(of: "gps", "ublox /dev/ttyAMA0")
    fill(usageHistory)
    // The first receiver that states its unique number counts as the one that made the earlier starts.
    usageHistory.isOf("CFFB03D259")
    #expect(usageHistory.learned.restarts[.hot] != nil && !usageHistory.starts.isEmpty)
    let after = wall.usageHistories
    let restored = after.usageHistory(of: "gps", "ublox /dev/ttyAMA0")
    try after.restore(usageHistories.text, file: "power.json")
    restored.isOf("CFFB03D259")
    #expect(restored.learned.restarts[.hot] != nil && restored.uniqueID == "CFFB03D259")
    restored.isOf("CFFB03D25A")
    #expect(restored.learned.restarts == RestartCosts() && restored.starts.isEmpty)
    #expect(restored.learned.gapCount == 12)
  }

  @Test(arguments: [
    ("{ \"version\": 1, \"devices\": {", "power.json:1"), ("", "power.json:1"),
    ("{ \"version\": 2, \"devices\": {} }", "version"),
    (
      "{ \"version\": 1,\n \"devices\": { \"gps\": { \"device\": \"x\",\n \"gaps\": { \"soon\": 1 } } } }",
      "power.json:3: 'devices.gps.gaps.soon'"
    ),
    ("{ \"version\": 1, \"devices\": { \"gps\": { \"device\": \"x\", \"savedJoules\": -1 } } }", "savedJoules"),
    (
      "{ \"version\": 1, \"devices\": { \"gps\": { \"device\": \"x\", \"startsBehindSleep\": { \"deep\": {} } } } }",
      "startsBehindSleep.deep"
    ),
  ])
  func `a damaged file is reported with the place, and changes nothing`(_ text: String, _ named: String) throws {
    let usageHistories = Wall().usageHistories
    fill(usageHistories.usageHistory(of: "gps", "x"))
    let before = usageHistories.text
    let problems: [BoardError]
    do throws(BoardError) {
      problems = try usageHistories.restore(Array(text.utf8), file: "power.json")
    } catch {
      problems = [error]
    }
    #expect(problems.contains { "\($0)".contains(named) && "\($0)".contains("power.json") }, "\(problems)")
    #expect(usageHistories.text == before)
  }

  @Test func `an invalid entry is skipped, and all others are kept`() throws {
    let text = """
      { "version": 1, "devices": {
        "mag": { "device": "y", "savedJoules": -1 },
        "gps": { "device": "x", "gapCount": 7,
          "hours": { "-1": { "a": 1 }, "499999": { "a": 2 }, "499998": { "a": 4 }, "500000": { "a": 8 } } } } }
      """
    let usageHistories = Wall().usageHistories
    let problems = try usageHistories.restore(Array(text.utf8), file: "power.json").map { "\($0)" }
    #expect(problems.count == 3, "\(problems)")
    for named in ["mag.savedJoules", "hours.-1", "hours.499998"] {
      #expect(problems.contains { $0.contains(named) }, "\(problems)")
    }
    let gps = usageHistories.usageHistory(of: "gps", "x")
    #expect(gps.learned.gapCount == 7 && gps.energyByClient(ofLast: 24).milliwattHours == 10)
  }

  @Test(arguments: [-3600.0, 0, 1, 1800, 5400])
  func `with a clock near 1970, no hour before 1970 is written and no energy is lost`(_ secondsSince1970: Double) throws
  {
    let usageHistories = UsageHistories { Int64(secondsSince1970 * 1e9) }
    let usageHistory = usageHistories.usageHistory(of: "gps", "x")
    usageHistory.charge(3, to: someone, over: 7200)
    #expect(usageHistory.snapshot.energyLog.hours.allSatisfy { $0.number >= 0 })
    #expect(abs(usageHistory.snapshot.energyLog.hours.reduce(0) { $0 + $1.energyByClient.milliwattHours } - 3) < 1e-9)
    let next = UsageHistories { Int64(secondsSince1970 * 1e9) }
    #expect(try next.restore(usageHistories.text, file: "power.json").isEmpty)
    #expect(next.text == usageHistories.text)
  }

  @Test func `the size of the file is limited, whatever happens`() {
    let wall = Wall()
    let usageHistories = wall.usageHistories
    let usageHistory = usageHistories.usageHistory(of: "gps", "nmea /dev/ttyAMA0")
    for visit in 0..<1000 {
      usageHistory.charge(1, to: EnergyByClient.Payers(holders: ["client \(visit)", "b \(visit)"]), over: 1000)
      usageHistory.learn { $0.visited(after: Double(visit), lingered: 30, costs) }
      wall.pass(0.7)
    }
    #expect(usageHistory.snapshot.energyLog.hours.count <= EnergyLog.hourCount)
    let first = usageHistories.text.count
    for visit in 0..<1000 {
      usageHistory.charge(1, to: EnergyByClient.Payers(holders: ["client \(visit)", "b \(visit)"]), over: 1000)
      wall.pass(0.7)
    }
    #expect(abs(Double(usageHistories.text.count) / Double(first) - 1) < 0.05 && first < 100_000, "\(first)")
    for index in 0..<200 { _ = usageHistories.usageHistory(of: "d\(index)", "x") }
    #expect(usageHistories.snapshot.count <= UsageHistories.limit)
  }

  @Test func `energy is divided among the hours in which it was used, and none is lost when the clock is set`() {
    var energyLog = EnergyLog()
    let payers = EnergyByClient.Payers(holders: ["watch"])
    // The energy is charged from half past to a quarter past, three hours later.
    energyLog.charge(11, to: payers, over: 2.75 * 3600, until: 1003.25 * 3600)
    #expect(energyLog.hours.map(\.number) == [1000, 1001, 1002, 1003])
    for (hour, part) in zip(energyLog.hours, [2.0, 4, 4, 1]) {
      #expect(abs(hour.energyByClient.milliwattHours - part) < 1e-9)
    }
    // The clock goes back to 1970 and then ahead again. Recorded hours stay.
    energyLog.charge(5, to: payers, over: 60, until: 120)
    energyLog.charge(7, to: payers, over: 60, until: 1003.5 * 3600)
    #expect(abs(energyLog.hours.reduce(0) { $0 + $1.energyByClient.milliwattHours } - 23) < 1e-9)
    #expect(abs(energyLog.energyByClient(ofLast: 24, now: 1003.6 * 3600).milliwattHours - 18) < 1e-9)
  }

  @Test func `standby energy from before the last week does not count for the week`() {
    var energyLog = EnergyLog()
    // The energy is that of 300 hours at 2 mW.
    energyLog.charge(600, to: .standby, over: 300 * 3600, until: 1000.5 * 3600)
    #expect(abs(energyLog.energyByClient(ofLast: 24, now: 1000.5 * 3600).milliwattHours - 47) < 1e-6)
    // There are 168 complete hours, and half of the current one.
    #expect(abs(energyLog.hours.reduce(0) { $0 + $1.energyByClient.milliwattHours } - 2 * 168.5) < 1e-6)
  }

  @Test func `energy is recorded under a device's name, even if another device had that name before`() throws {
    let usageHistories = Wall().usageHistories
    fill(usageHistories.usageHistory(of: "gps", "nmea /dev/ttyAMA0"))
    let other = usageHistories.usageHistory(of: "gps", "nmea /dev/ttyUSB0")
    #expect(other.learned.gapCount == 0 && abs(other.energyByClient(ofLast: 24).milliwattHours - 3) < 1e-9)
    let next = Wall().usageHistories
    let restored = next.usageHistory(of: "gps", "ubx /dev/ttyAMA0")
    try next.restore(usageHistories.text, file: "power.json")
    #expect(restored.learned.gapCount == 0 && abs(restored.energyByClient(ofLast: 24).milliwattHours - 3) < 1e-4)
  }
}
