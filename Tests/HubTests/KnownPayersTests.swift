import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// What it takes to bill a crowd, counted in names that are looked up.
@Suite(.timeLimit(.minutes(10)))
struct KnownPayersTests {
  /// Two devices that are held for the state, and by nobody else.
  private func bill(_ known: inout KnownPayers, _ holders: [String]) {
    known.refresh(["state": holders]) { known in
      for device in ["gps", "imu"] {
        let payers = known.payers(of: .device(device), ["state"])
        #expect(payers.map(shares) == expectedShares(["state"], ["state": holders]))
      }
    }
  }

  private func shares(_ payers: EnergyBills.Payers) -> [String: Int] {
    // Millionths: what is left of dividing is no difference.
    payers.payers.reduce(into: [:]) { $0[$1.name, default: 0] += Int(($1.part * 1e6).rounded()) }
  }

  /// By asking each; `nil` where only a reload holds something.
  private func expectedShares(_ holders: [String], _ derived: [String: [String]]) -> [String: Int]? {
    var found: Set<String> = []
    func find(_ holders: [String]) {
      for holder in holders {
        if let others = derived[holder] { find(others) } else { found.insert(holder) }
      }
    }
    find(holders)
    let payers = found.subtracting(["reload"])
    if payers.isEmpty, !found.isEmpty { return nil }
    let counts = payers.reduce(into: [String: Int]()) { $0[EnergyBills.payer($1), default: 0] += 1 }
    return counts.mapValues { Int((Double($0) / Double(payers.count) * 1e6).rounded()) }
  }

  @Test func `a client that comes or leaves costs as much, however many are there`() {
    var known = KnownPayers(bridge: "reload")
    var holders = ["log"]
    bill(&known, holders)
    func costs(_ change: () -> Void) -> Int {
      let before = known.stepCount
      change()
      bill(&known, holders)
      return known.stepCount - before
    }
    for client in 0..<200 {
      #expect(costs { holders.append("events 192.0.2.\(client % 10):\(40_000 + client)") } <= 3)
    }
    while holders.count > 1 {
      #expect(costs { holders.remove(at: holders.count / 3) } <= 3)
    }
  }

  @Test func `a crowd that has left is forgotten`() {
    var known = KnownPayers(bridge: "reload")
    var holders = (0..<200).map { "watch[\($0)]" }
    bill(&known, holders)
    while !holders.isEmpty {
      holders.removeFirst()
      bill(&known, holders)
      #expect(known.count <= 2 * holders.count + 4)
    }
  }

  @Test func `visitors who come and go are not kept`() {
    var known = KnownPayers(bridge: "reload")
    for visit in 0..<1000 {
      bill(&known, ["log", "watch[\(visit)]"])
      #expect(known.count <= 8)
    }
  }

  @Test func `payers stand in the order in which they came, and those behind the twelfth together`() {
    var known = KnownPayers(bridge: "reload")
    func payers(_ holders: [String]) -> [EnergyBills.Payers.Payer] {
      var payers: EnergyBills.Payers?
      known.refresh([:]) { payers = $0.payers(of: .device("gps"), holders) }
      return payers?.payers ?? []
    }
    #expect(payers(["watch[1]", "gpsd 192.0.2.7:40000", "watch[2]"]).map(\.name) == ["watch", "gpsd 192.0.2.7"])
    #expect(payers(["gpsd 192.0.2.7:40000", "log"]).map(\.name) == ["gpsd 192.0.2.7", "log"])
    let many = payers((0..<20).map { "client \($0)" })
    #expect(many.map(\.name) == (0..<12).map { "client \($0)" } + [EnergyBills.others])
    #expect(abs((many.last?.part ?? 0) - 0.4) < 1e-9)
  }

  /// Clients of all kinds come and leave, some several times at once, a reload among them; what holds devices for them changes as well.
  @Test func `whoever comes and leaves in whatever order pays as if each were asked`() {
    var chance = SeededRandom()
    var derived: [String: [String]] = [
      "gps readings": [], "imu readings": [], "epochs": [], "sentences": [], "state of receiver": [],
      "state of all": [],
    ]
    let links = [
      "gps": ["gps readings"], "imu": ["imu readings"],
      "gps readings": ["epochs", "state of receiver", "state of all"],
      "imu readings": ["state of all"], "epochs": ["sentences"],
    ]
    var devices: [String: [String]] = ["gps": [], "imu": []]
    func change(_ holders: inout [String], by link: [String]) {
      if let index = holders.indices.randomElement(using: &chance), Bool.random(using: &chance) {
        holders.remove(at: index)
      } else if let link = link.first(where: { !holders.contains($0) }), Bool.random(using: &chance) {
        holders.append(link)
      } else if Int.random(in: 0..<20, using: &chance) == 0 {
        holders.append("reload")
      } else {
        let kind = ["watch", "\"my log\"", "viewer"].randomElement(using: &chance) ?? ""
        holders.append("\(kind)[\(Int.random(in: 0..<12, using: &chance))]")
      }
    }
    var known = KnownPayers(bridge: "reload")
    for _ in 0..<2000 {
      for _ in 0..<Int.random(in: 1...3, using: &chance) {
        if let name = derived.keys.sorted().randomElement(using: &chance), Int.random(in: 0..<4, using: &chance) > 0 {
          change(&derived[name, default: []], by: links[name] ?? [])
        } else if let name = devices.keys.sorted().randomElement(using: &chance) {
          change(&devices[name, default: []], by: links[name] ?? [])
        }
      }
      known.refresh(derived) { known in
        for (device, holders) in devices {
          let payers = known.payers(of: .device(device), holders)
          #expect(payers.map(shares) == expectedShares(holders, derived), "\(device): \(holders), \(derived)")
        }
      }
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
