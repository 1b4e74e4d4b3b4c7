import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The shares of energy of a device with many holders.
@Suite(.timeLimit(.minutes(10)))
struct PayerSharesTests {
  @Test func `clients that have left are forgotten`() {
    var shares = PayerShares()
    let crowd = (0..<200).map { Holder.client("watch[\($0)]") }
    for holder in crowd { shares.add(holder) }
    #expect(shares.holderCount == 200 && shares.payers?.payers.map(\.name) == ["watch"])
    for (index, holder) in crowd.enumerated() {
      shares.remove(holder)
      #expect(shares.holderCount == 199 - index)
    }
    #expect(shares.payers?.payers.isEmpty == true)
  }

  @Test func `payers are listed in the order in which they came, and those after the twelfth together`() {
    var shares = PayerShares()
    for name in ["watch[1]", "gpsd 192.0.2.7:40000", "watch[2]"] { shares.add(.client(name)) }
    #expect(shares.payers?.payers.map(\.name) == ["watch", "gpsd 192.0.2.7"])
    for name in ["watch[1]", "watch[2]"] { shares.remove(.client(name)) }
    shares.add("log")
    #expect(shares.payers?.payers.map(\.name) == ["gpsd 192.0.2.7", "log"])
    let many = EnergyByClient.Payers(holders: (0..<20).map { "client \($0)" }).payers
    #expect(many.map(\.name) == (0..<12).map { "client \($0)" } + [EnergyByClient.others])
    #expect(abs((many.last?.part ?? 0) - 0.4) < 1e-9)
  }

  @Test func `a client that holds a device in several ways has one share, and cannot use the name of a policy`() {
    var shares = PayerShares()
    let phone = Holder("web 127.0.0.1:1", id: HolderID(), payer: "web 127.0.0.1")
    for holder in [phone, phone.wanting([.position]), "log"] { shares.add(holder) }
    #expect(shares.payers?.payers.map(\.part) == [0.5, 0.5])
    shares.remove(phone)
    #expect(shares.payers?.payers.map(\.part) == [0.5, 0.5])
    shares.remove(phone.wanting([.position]))
    #expect(shares.payers?.payers.map(\.name) == ["log"])
    #expect(EnergyByClient.Payers(holders: ["(linger)"]).payers.map(\.name) == [EnergyByClient.others])
  }

  @Test func `a client that gives its name while it holds a device pays under this name`() {
    var shares = PayerShares()
    let id = HolderID()
    let unnamed = Holder("client[7]", id: id, payer: "client")
    let named = Holder("watch[7]", id: id, payer: "watch")
    for holder in [unnamed, "log", named] { shares.add(holder) }
    #expect(shares.payers?.payers.map(\.name) == ["log", "watch"])
    shares.remove(unnamed)
    #expect(shares.payers?.payers.map(\.name) == ["log", "watch"])
    #expect(shares.payers?.payers.map(\.part) == [0.5, 0.5])
    shares.remove(named)
    #expect(shares.payers?.payers.map(\.name) == ["log"])
    #expect(shares.payers?.payers.map(\.part) == [1])
  }

  @Test func `with a thousand clients, each account has the share of its clients, and the sum is the energy used`()
    async throws
  {
    let clock = ManualClock()
    let terminal = PseudoTerminal()
    // Keep the pseudo-terminal open, so that the receiver stays connected to the end.
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
      leases.append(hub.state.subscribe(as: .client(name), receiveValue: { _ in }))
    }
    #expect(hub.waits { hub.devices[0].holders.count == 1000 && hub.devices[0].power == .acquiring })
    // The second epoch ends the first.
    for second in 0..<2 { tell(second) }
    #expect(hub.waits { hub.devices[0].power == .tracking })
    #expect(hub.waits { hub.monitors[0].payers == ["watch", "gpsd 192.0.2.7"] })
    let before = hub.devices[0]
    clock.advance(by: .seconds(4))
    let after = hub.devices[0]
    func paid(_ payer: String) -> Double {
      func clientEnergy(_ status: DeviceStatus) -> Double {
        status.energyByClient.first { $0.payer == payer }?.milliwattHours ?? 0
      }
      return clientEnergy(after) - clientEnergy(before)
    }
    let drawn = after.energyMilliwattHours - before.energyMilliwattHours
    #expect(drawn > 0 && abs(paid("watch") - drawn / 4) < 1e-9 && abs(paid("gpsd 192.0.2.7") - drawn * 3 / 4) < 1e-9)
    for lease in leases { lease.cancel() }
    #expect(hub.waits { hub.devices[0].holders.isEmpty && hub.monitors[0].payers.isEmpty })
    let end = hub.devices[0]
    #expect(abs(end.energyByClient.reduce(0) { $0 + $1.milliwattHours } - end.energyMilliwattHours) < 1e-9)
    hub.shutDown()
    await hub.isOff()
  }
}
