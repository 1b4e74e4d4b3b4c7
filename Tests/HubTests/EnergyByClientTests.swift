import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The payers for a device's energy.
@Suite(.timeLimit(.minutes(10)))
struct EnergyByClientTests {
  /// A receiver on a pseudo-terminal that draws 360 mW at work and 36 mW otherwise, with a clock that the test moves.
  private final class Visited {
    let clock = ManualClock()
    let hub: Hub
    private let terminal = PseudoTerminal()
    private var leases: [(name: String, lease: Subscription)] = []
    private var second = 0
    /// The number of sentences that the receiver has sent.
    private var said = 0
    /// Whether the receiver has had a fix in its present run, which continues while it is idle.
    private var hasTracked = false
    private(set) var expected: [String: Double] = [:]

    init(_ power: String = "lingerSeconds: 20") throws {
      let board =
        "{ name: 'x', devices: { gps: { driver: 'nmea', port: '\(terminal.path)', speed: 9600, power: { "
        + "currentMilliamperes: 100, standbyMilliamperes: 10, supplyVolts: 3.6, \(power) } } } }"
      hub = Hub(board: try Board(json5: Array(board.utf8), file: "x"), hardware: LinuxHardware(), clock: clock)
    }

    var status: DeviceStatus { hub.devices[0] }

    func isHolding(_ name: String) -> Bool { leases.contains { $0.name == name } }

    func come(_ name: String) throws {
      let isFirst = leases.isEmpty
      if status.power == .asleep { hasTracked = false }
      let powerLease = hub.powerLease(of: "gps")
      leases.append((name, powerLease.subscribe(as: .client(name), receiveValue: { _ in })))
      if isFirst { #expect(hub.waits { [.acquiring, .tracking].contains(status.power) }) }
      settle()
    }

    func leave(_ name: String) {
      leases.removeAll { lease in
        if lease.name == name { lease.lease.cancel() }
        return lease.name == name
      }
      if leases.isEmpty { #expect(hub.waits { [.lingering, .asleep].contains(status.power) }) }
      settle()
    }

    /// Waits until the monitor charges the test's clients.
    private func settle() {
      let payers = leases.compactMap { Holder.client($0.name).payer?.name }
      #expect(
        hub.waits { hub.monitors[0].payers == payers.reduce(into: []) { if !$0.contains($1) { $0.append($1) } } })
    }

    func findFix() {
      guard status.power == .acquiring else { return }
      // The second epoch ends the first.
      for _ in 0..<2 {
        second += 1
        let time = String(120_000 + second / 60 * 100 + second % 60)
        terminal.write(nmeaLine("GPRMC,\(time).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A"))
        said += 1
      }
      // Both epochs count; silence ends the second.
      #expect(hub.waits { status.power == .tracking && count("epochs") == second })
      hasTracked = true
    }

    private func count(_ name: String) -> Int { status.counters.first { $0.name == name }?.value ?? 0 }

    func pass(_ seconds: Double) {
      if seconds <= 0 { return }
      let end = clock.now + .nanoseconds(Int64(seconds * 1e9))
      let status = status
      switch status.power {
      case .lingering:
        let lingersUntil = status.lingersUntil ?? clock.now
        charge([EnergyByClient.idleTimeout], 360, min(end, lingersUntil).seconds(since: clock.now))
        talk(until: min(end, lingersUntil), sleepsThen: lingersUntil <= end)
        guard lingersUntil <= end else { return }
        #expect(hub.waits { self.status.power == .asleep })
        pass(end.seconds(since: clock.now))
      case .asleep:
        charge([EnergyByClient.standby], 36, seconds)
        clock.run(until: end)
      default:
        let payers = leases.compactMap { Holder.client($0.name).payer?.name }
        // After ten seconds without a position the receiver is acquiring again, but its energy is still shared by all
        // clients.
        charge(hasTracked ? payers : Array(payers.prefix(1)), 360, seconds)
        talk(until: end)
      }
    }

    /// Lets time pass while the receiver is read. The receiver continues to send, because a receiver that is silent for
    /// ten seconds fails as soon as its reader checks the clock.
    func talk(until end: MonotonicInstant, sleepsThen: Bool = false) {
      while clock.now < end {
        clock.run(until: min(end, clock.now + .seconds(5)))
        if sleepsThen, clock.now == end { return }
        terminal.write(nmeaLine("GPTXT,01,01,02,no antenna"))
        said += 1
        #expect(hub.waits { count("sentences") == said })
      }
    }

    private func charge(_ payers: [String], _ milliwatts: Double, _ seconds: Double) {
      for payer in payers { expected[payer, default: 0] += milliwatts * seconds / 3600 / Double(payers.count) }
    }

    func end() async {
      leases = []
      hub.shutDown()
      await hub.isOff()
    }
  }

  @Test func `the clients' energy adds up to the device's, in whatever order they come and leave`() async throws {
    var chance = SeededRandom()
    let visited = try Visited()
    let names = ["watch[812]", "logger[900]", "gpsd 127.0.0.1:40022"]
    for _ in 0..<60 {
      let name = names[Int.random(in: 0..<3, using: &chance)]
      switch Int.random(in: 0..<5, using: &chance) {
      case 0, 1: if visited.isHolding(name) { visited.leave(name) } else { try visited.come(name) }
      case 2: visited.findFix()
      default: visited.pass(Double(Int.random(in: 1...30, using: &chance)))
      }
    }
    let status = visited.status
    let energyByClient = Dictionary(uniqueKeysWithValues: status.energyByClient.map { ($0.payer, $0.milliwattHours) })
    for (payer, energy) in visited.expected {
      #expect(
        abs((energyByClient[payer] ?? 0) - energy) <= 0.01 * energy,
        "\(payer): \(energyByClient[payer] ?? 0) of \(energy)")
    }
    #expect(Set(energyByClient.keys) == Set(visited.expected.keys))
    let sum = energyByClient.values.reduce(0, +)
    #expect(sum > 0 && abs(sum / status.energyMilliwattHours - 1) < 1e-6)
    // The hourly records have the same total.
    #expect(abs(status.energyByClientOfDay.reduce(0) { $0 + $1.milliwattHours } / sum - 1) < 0.01)
    await visited.end()
  }

  @Test func `energy during a reload is charged to the client that holds the device`() async throws {
    let visited = try Visited()
    let lease = visited.hub.powerLease(of: "gps").subscribe(
      as: .client("watch[812]"), receiveValue: { _ in })
    #expect(visited.hub.waits { visited.status.power == .acquiring && visited.hub.monitors[0].payers == ["watch"] })
    visited.talk(until: visited.clock.now + .seconds(5))
    #expect(await visited.hub.apply(visited.hub.board) == [])
    #expect(visited.status.holders == ["watch[812]"])
    visited.talk(until: visited.clock.now + .seconds(5))
    lease.cancel()
    #expect(visited.hub.waits { visited.status.power == .lingering })
    visited.talk(until: visited.clock.now + .seconds(5))
    let energyByClient = visited.status.energyByClient
    #expect(energyByClient.map(\.payer) == ["watch", EnergyByClient.idleTimeout], "\(energyByClient)")
    #expect(abs((energyByClient.first?.milliwattHours ?? 0) - 1) < 0.01, "\(energyByClient)")
    await visited.end()
  }

  @Test func `a device that learns reports its idle timeout and the reason`() async throws {
    let visited = try Visited("linger: 'learned'")
    // A start takes four seconds, and the next client comes a second and a half after the last has left.
    func visit() throws {
      try visited.come("watch[1]")
      visited.pass(4)
      visited.findFix()
      visited.leave("watch[1]")
    }
    try visit()
    let first = visited.status
    #expect(first.power == .lingering && first.reason.contains("too few clients"), "\(first.reason)")
    // The assumed time of a receiver's start is half a minute.
    visited.pass(60)
    for _ in 0..<6 {
      try visit()
      visited.pass(1.5)
    }
    let learnt = visited.status
    #expect(learnt.power == .lingering && learnt.reason.contains("as learned: "), "\(learnt.reason)")
    let idleTimeout = try #require(learnt.idleTimeout)
    #expect((1.5...2).contains(idleTimeout.seconds), "\(idleTimeout.seconds)")
    #expect(idleTimeout.explanation.contains { $0.hasPrefix("a hot start takes 4 s") }, "\(idleTimeout.explanation)")
    #expect(learnt.wakes == 2)
    await visited.end()
  }

  @Test func `the number of names in an energy log is limited, and no energy is lost`() {
    var energyByClient = EnergyByClient()
    for index in 0..<1000 { energyByClient.charge(1, to: "client \(index)") }
    energyByClient.charge(1, to: EnergyByClient.idleTimeout)
    #expect(energyByClient.clients.count < 20 && energyByClient.milliwattHours == 1001)
    let payers = EnergyByClient.Payers(holders: (0..<1000).map { "client \($0)" })
    energyByClient.charge(1, to: payers)
    #expect(energyByClient.clients.count < 20 && abs(energyByClient.milliwattHours - 1002) < 1e-6)
  }
}
