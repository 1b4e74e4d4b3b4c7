import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// What it takes to bill a crowd, counted in names that are taken apart.
@Suite(.timeLimit(.minutes(10)))
struct KnownPayersTests {
  /// Bills three devices: two are held for the same.
  private func bill(_ known: inout KnownPayers, _ holders: [String]) {
    known.refresh { known in
      for holders in [holders, holders, Array(holders.dropFirst())] {
        #expect(known.payers(of: holders) == EnergyBills.Payers(holders: holders))
      }
    }
  }

  @Test func `a client that comes costs one name, however many are there`() {
    var known = KnownPayers()
    var holders: [String] = []
    for client in 0..<200 {
      holders.append("events 192.0.2.\(client % 20):\(40_000 + client)")
      bill(&known, holders)
      #expect(known.parsedCount == holders.count)
    }
  }

  @Test func `a crowd that leaves one after the other costs no more names than it has clients, and is forgotten`() {
    var known = KnownPayers()
    var holders = (0..<200).map { "watch[\($0)]" }
    bill(&known, holders)
    while !holders.isEmpty {
      holders.removeFirst()
      bill(&known, holders)
      #expect(known.count <= 4 * holders.count)
    }
    #expect(known.count == 0 && known.parsedCount <= 2 * 200)
  }

  @Test func `visitors who come and go are not kept`() {
    var known = KnownPayers()
    for visit in 0..<1000 {
      bill(&known, ["log", "watch[\(visit)]"])
      #expect(known.count <= 8)
    }
  }

  @Test func `of a thousand who want the state each payer has the share of its clients, and the sum is what was drawn`()
    async throws
  {
    let clock = ManualClock()
    let terminal = PseudoTerminal()
    // The receiver stays plugged in to the end.
    defer { withExtendedLifetime(terminal) {} }
    let text =
      "{ name: 'x', devices: { gps: { driver: 'nmea', port: '\(terminal.path)', speed: 9600, power: { "
      + "currentMilliamperes: 100, standbyMilliamperes: 10, supplyVolts: 3.6, lingerSeconds: 20 } } } }"
    let board = try Board(json5: Array(text.utf8), file: "x")
    let hub = Hub(board: board, hardware: LinuxHardware(), clock: clock)
    func tell(_ second: Int) {
      terminal.write(nmeaLine("GPRMC,1200\(10 + second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A"))
    }
    var leases: [Subscription] = []
    for client in 0..<1000 {
      let name = client % 4 == 0 ? "watch[\(client)]" : "gpsd 192.0.2.7:\(40_000 + client)"
      leases.append(hub.state.subscribe(as: name, receiveValue: { _ in }))
    }
    #expect(eventually { hub.devices[0].holders.count == 1000 && hub.devices[0].power == .acquiring })
    // The second epoch ends the first.
    var second = 0
    #expect(
      eventually {
        if second < 40 { tell(second) }
        second += 1
        return hub.devices[0].power == .tracking
      })
    #expect(eventually { hub.monitors[0].payers == ["watch", "gpsd 192.0.2.7"] })
    let before = hub.devices[0]
    clock.advance(by: .seconds(4))
    let after = hub.devices[0]
    func paid(_ payer: String) -> Double {
      func bill(_ status: DeviceStatus) -> Double { status.bills.first { $0.payer == payer }?.milliwattHours ?? 0 }
      return bill(after) - bill(before)
    }
    let drawn = after.energyMilliwattHours - before.energyMilliwattHours
    #expect(drawn > 0 && abs(paid("watch") - drawn / 4) < 1e-9 && abs(paid("gpsd 192.0.2.7") - drawn * 3 / 4) < 1e-9)
    for lease in leases { lease.cancel() }
    #expect(eventually { hub.devices[0].holders.isEmpty && hub.monitors[0].payers.isEmpty })
    let end = hub.devices[0]
    #expect(abs(end.bills.reduce(0) { $0 + $1.milliwattHours } - end.energyMilliwattHours) < 1e-9)
    hub.shutDown()
    await hub.isOff()
  }
}
