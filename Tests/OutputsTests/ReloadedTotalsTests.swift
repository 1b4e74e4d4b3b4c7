import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// The totals of a device do not decrease with a reload of the board file.
@Suite(.timeLimit(.minutes(10)))
struct ReloadedTotalsTests {
  private let terminal = PseudoTerminal()

  private func board(speed: Int?) throws -> Board {
    let gps =
      "gps: { driver: 'nmea', port: '\(terminal.path)', speed: \(speed ?? 0), power: { currentMilliamperes: 100, "
      + "standbyMilliamperes: 10, supplyVolts: 3.6, lingerSeconds: 20 } }"
    return try Board(json5: Array("{ name: 'x', devices: { \(speed == nil ? "" : gps) } }".utf8), file: "x")
  }

  @Test func `totals, energy per client and counters continue with the new device after a reload`() async throws {
    let clock = ManualClock()
    let host = HubHost(
      Hub(board: try board(speed: 9600), hardware: LinuxHardware(), clock: clock), version: "test")
    func status() throws -> DeviceStatus { try #require(host.hub.devices.first) }
    func sentences(_ status: DeviceStatus) -> Int { status.counters.first { $0.name == "sentences" }?.value ?? 0 }
    var drawn = 0.0

    func visit() throws {
      let before = sentences(try status())
      let lease = host.hub.powerLease(of: "gps").subscribe(as: "watch[1]", receiveValue: { _ in })
      #expect(host.hub.monitors[0].changes.waits { $0.power == .acquiring })
      terminal.write(nmeaLine("GPRMC,120000.00,V,,,,,,,211126,,,N"))
      #expect(try host.hub.waits { try sentences(status()) == before + 1 })
      // The time is less than that after which a silent receiver is given up, because its reader may check the clock
      // before the lease ends.
      clock.advance(by: .seconds(8))
      drawn += 360.0 * 8 / 3600
      lease.cancel()
      #expect(host.hub.monitors[0].changes.waits { $0.power == .lingering || $0.power == .asleep })
    }

    try visit()
    for speed in [19_200, nil, 19_200, 38_400] as [Int?] {
      let before = host.hub.devices.first
      // The old device is no longer idle with its power on.
      #expect(await host.serve(try board(speed: speed)) == [])
      guard speed != nil else {
        #expect(host.hub.devices.isEmpty)
        continue
      }
      let after = try status()
      if let before {
        #expect(after.wakes >= before.wakes && sentences(after) >= sentences(before))
        #expect(after.energyMilliwattHours >= before.energyMilliwattHours && after.onTime >= before.onTime)
      }
      #expect(sentences(after) > 0 && after.wakes == sentences(after))
      try visit()
    }
    let last = try status()
    #expect(last.wakes == 4 && sentences(last) == 4 && last.onTime == .seconds(4 * 8))
    #expect(abs(last.energyMilliwattHours / drawn - 1) < 0.01, "\(last.energyMilliwattHours) of \(drawn)")
    for energyByClient in [last.energyByClient, last.energyByClientOfDay] {
      #expect(
        abs(energyByClient.reduce(0) { $0 + $1.milliwattHours } / last.energyMilliwattHours - 1) < 0.01,
        "\(energyByClient)")
    }
    #expect(MetricsReport.text(host).contains("sensorhub_device_wakes_total{device=\"gps\"} 4\n"))
    host.hub.shutDown()
    await host.hub.isOff()
  }
}
