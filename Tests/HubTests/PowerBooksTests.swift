import Devices
import Guarding
import TestSupport
import Testing

@testable import Hub

/// The hub's knowledge of its devices' power, from one run to the next.
struct PowerBooksTests {
  private static let hour = Int64(3600) * 1_000_000_000

  /// The system's clock, in the test's hand.
  private final class Wall: Sendable {
    private let hours = Guarded(500_000.0)
    var books: PowerBooks { PowerBooks { [self] in Int64(hours.withLock { $0 } * Double(hour)) } }
    func pass(_ count: Double) { hours.withLock { $0 += count } }
  }

  private let costs = LearnedLinger.Costs(watts: 0.1, assumedJoules: 3)
  private let someone = EnergyBills.Payers(holders: ["watch[1]", "\"it's \\ mine\"[2]"])

  private func fill(_ book: PowerBook) {
    book.learn { learned in
      for _ in 0..<12 { learned.visited(after: 9.7, lingered: nil, costs) }
      learned.restarts.started(after: 60, joules: 2.75, seconds: 27.5)
    }
    book.learnStart(behind: .backup) { $0.started(after: 60, joules: 0.25, seconds: 1.5) }
    book.charge(3, to: someone, over: 7200)
  }

  @Test func `what was learnt and what was drawn survive`() throws {
    let wall = Wall()
    let (before, after) = (wall.books, wall.books)
    let book = before.book(of: "gps", "nmea /dev/ttyAMA0")
    fill(book)
    // Opened before or after the file has been read.
    let restored = after.book(of: "gps", "nmea /dev/ttyAMA0")
    try after.restore(before.text, file: "power.json")
    let (old, new) = (book.learned.decide(costs), restored.learned.decide(costs))
    #expect(
      new.ground == .learnt && abs(new.seconds - old.seconds) < 1e-3 && new.expectedReturns == old.expectedReturns)
    #expect(abs(new.breakEvenSeconds - 27.5) < 1e-3)
    #expect(restored.starts == book.starts && restored.starts[.backup]?[.hot]?.joules == 0.25)
    let bills = restored.bills(ofLast: 24)
    #expect(bills.bills.map(\.payer) == ["watch", "\"it's \\ mine\""] && abs(bills.milliwattHours - 3) < 1e-4)
    // A day later it is of the week, and after that of nothing.
    wall.pass(30)
    #expect(
      restored.bills(ofLast: 24).milliwattHours == 0 && abs(restored.bills(ofLast: 168).milliwattHours - 3) < 1e-4)
    wall.pass(168)
    #expect(restored.bills(ofLast: 168).milliwattHours == 0)
    // Written again it is the same.
    #expect(after.text == before.text)
  }

  @Test func `another device under the same name starts afresh, and one that comes back does not`() throws {
    let wall = Wall()
    let books = wall.books
    fill(books.book(of: "gps", "nmea /dev/ttyAMA0"))
    #expect(books.book(of: "gps", "nmea /dev/ttyAMA0").learned.gapCount == 12)
    let next = wall.books
    try next.restore(books.text, file: "power.json")
    // A board that does not name it for a while.
    _ = next.book(of: "imu", "mpu-6050 0x68 on /dev/i2c-1")
    let last = wall.books
    try last.restore(next.text, file: "power.json")
    #expect(last.book(of: "gps", "nmea /dev/ttyAMA0").learned.gapCount == 12)
    #expect(last.book(of: "gps", "nmea /dev/ttyUSB0").learned.gapCount == 0)
  }

  @Test func `what another receiver's starts have taught is forgotten, and its visitors are not`() throws {
    let wall = Wall()
    let books = wall.books
    let book = books.book(of: "gps", "ublox /dev/ttyAMA0")
    fill(book)
    // The first to say who it is has been there before.
    book.isOf("CFFB03D259")
    #expect(book.learned.restarts[.hot] != nil && !book.starts.isEmpty)
    let after = wall.books
    let restored = after.book(of: "gps", "ublox /dev/ttyAMA0")
    try after.restore(books.text, file: "power.json")
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
  func `a damaged file is named, with the place, and changes nothing`(_ text: String, _ named: String) throws {
    let books = Wall().books
    fill(books.book(of: "gps", "x"))
    let before = books.text
    let problems: [BoardError]
    do throws(BoardError) {
      problems = try books.restore(Array(text.utf8), file: "power.json")
    } catch {
      problems = [error]
    }
    #expect(problems.contains { "\($0)".contains(named) && "\($0)".contains("power.json") }, "\(problems)")
    #expect(books.text == before)
  }

  @Test func `an entry that is wrong is skipped, and costs no other entry`() throws {
    let text = """
      { "version": 1, "devices": {
        "mag": { "device": "y", "savedJoules": -1 },
        "gps": { "device": "x", "gapCount": 7,
          "hours": { "-1": { "a": 1 }, "499999": { "a": 2 }, "499998": { "a": 4 }, "500000": { "a": 8 } } } } }
      """
    let books = Wall().books
    let problems = try books.restore(Array(text.utf8), file: "power.json").map { "\($0)" }
    #expect(problems.count == 3, "\(problems)")
    for named in ["mag.savedJoules", "hours.-1", "hours.499998"] {
      #expect(problems.contains { $0.contains(named) }, "\(problems)")
    }
    let gps = books.book(of: "gps", "x")
    #expect(gps.learned.gapCount == 7 && gps.bills(ofLast: 24).milliwattHours == 10)
  }

  @Test(arguments: [-3600.0, 0, 1, 1800, 5400])
  func `a clock near 1970 writes no hour before that, and loses nothing`(_ secondsSince1970: Double) throws {
    let books = PowerBooks { Int64(secondsSince1970 * 1e9) }
    let book = books.book(of: "gps", "x")
    book.charge(3, to: someone, over: 7200)
    #expect(book.snapshot.ledger.hours.allSatisfy { $0.number >= 0 })
    #expect(abs(book.snapshot.ledger.hours.reduce(0) { $0 + $1.bills.milliwattHours } - 3) < 1e-9)
    let next = PowerBooks { Int64(secondsSince1970 * 1e9) }
    #expect(try next.restore(books.text, file: "power.json").isEmpty)
    #expect(next.text == books.text)
  }

  @Test func `the file is bounded, whatever comes`() {
    let wall = Wall()
    let books = wall.books
    let book = books.book(of: "gps", "nmea /dev/ttyAMA0")
    for visit in 0..<1000 {
      book.charge(1, to: EnergyBills.Payers(holders: ["client \(visit)", "b \(visit)"]), over: 1000)
      book.learn { $0.visited(after: Double(visit), lingered: 30, costs) }
      wall.pass(0.7)
    }
    #expect(book.snapshot.ledger.hours.count <= EnergyLedger.hourCount)
    let first = books.text.count
    for visit in 0..<1000 {
      book.charge(1, to: EnergyBills.Payers(holders: ["client \(visit)", "b \(visit)"]), over: 1000)
      wall.pass(0.7)
    }
    #expect(abs(Double(books.text.count) / Double(first) - 1) < 0.05 && first < 100_000, "\(first)")
    for index in 0..<200 { _ = books.book(of: "d\(index)", "x") }
    #expect(books.snapshot.count <= PowerBooks.limit)
  }

  @Test func `what was drawn over hours stands in these hours, and none of it is lost when the clock is set`() {
    var ledger = EnergyLedger()
    let payers = EnergyBills.Payers(holders: ["watch"])
    // From half past to a quarter past, three hours on.
    ledger.charge(11, to: payers, over: 2.75 * 3600, until: 1003.25 * 3600)
    #expect(ledger.hours.map(\.number) == [1000, 1001, 1002, 1003])
    for (hour, part) in zip(ledger.hours, [2.0, 4, 4, 1]) { #expect(abs(hour.bills.milliwattHours - part) < 1e-9) }
    // Back to 1970, ahead again: the hours that are known stay.
    ledger.charge(5, to: payers, over: 60, until: 120)
    ledger.charge(7, to: payers, over: 60, until: 1003.5 * 3600)
    #expect(abs(ledger.hours.reduce(0) { $0 + $1.bills.milliwattHours } - 23) < 1e-9)
    #expect(abs(ledger.bills(ofLast: 24, now: 1003.6 * 3600).milliwattHours - 18) < 1e-9)
  }

  @Test func `what a hub that nobody looked at drew before the week is not of the week`() {
    var ledger = EnergyLedger()
    // 300 hours at 2 mW.
    ledger.charge(600, to: .standby, over: 300 * 3600, until: 1000.5 * 3600)
    #expect(abs(ledger.bills(ofLast: 24, now: 1000.5 * 3600).milliwattHours - 47) < 1e-6)
    // 168 whole ones, and the half that is under way.
    #expect(abs(ledger.hours.reduce(0) { $0 + $1.bills.milliwattHours } - 2 * 168.5) < 1e-6)
  }

  @Test func `what was drawn stands under a device's name, whatever had that name`() throws {
    let books = Wall().books
    fill(books.book(of: "gps", "nmea /dev/ttyAMA0"))
    let other = books.book(of: "gps", "nmea /dev/ttyUSB0")
    #expect(other.learned.gapCount == 0 && abs(other.bills(ofLast: 24).milliwattHours - 3) < 1e-9)
    let next = Wall().books
    let restored = next.book(of: "gps", "ubx /dev/ttyAMA0")
    try next.restore(books.text, file: "power.json")
    #expect(restored.learned.gapCount == 0 && abs(restored.bills(ofLast: 24).milliwattHours - 3) < 1e-4)
  }
}
