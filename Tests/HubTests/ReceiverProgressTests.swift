import HardwareIO
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The reports about a receiver without a position: on a pseudo-terminal, with a clock that the test moves.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverProgressTests {
  private let terminal = PseudoTerminal()
  private let clock = ManualClock()
  private let hub: Hub
  private let statuses = Recorder<DeviceStatus>()
  private let lifetime = Lifetime()

  init() throws {
    let power = "power: { switch: \"none\", lingerSeconds: 0 }"
    let board =
      "{ name: \"test\", devices: { gps: { driver: \"nmea\", port: \"\(terminal.path)\", speed: 9600, \(power) } } }"
    hub = Hub(board: try Board(json5: Array(board.utf8), file: "test"), hardware: LinuxHardware(), clock: clock)
    let (statuses, gps) = (statuses, hub.receiver)
    gps?.monitor.changes.subscribe(as: "test", receiveValue: { statuses.append($0) }).store(in: lifetime)
    gps?.device.source.subscribe(as: "test", receiveValue: { _ in }).store(in: lifetime)
  }

  private func position(_ second: Int) -> String {
    nmeaLine("GPRMC,1200\(second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A")
  }

  private func count(_ name: String) -> Int { hub.devices[0].counters.first { $0.name == name }?.value ?? 0 }

  @Test func `a receiver's output without an epoch is counted`() async {
    _ = await statuses.first { $0.power == .acquiring }
    for _ in 0..<20 { terminal.write(nmeaLine("GPTXT,01,01,02,no antenna") + "$GPRMC,broken*00\r\n") }
    #expect(hub.waits { count("sentences") == 20 && count("badChecksum") == 20 })
    #expect(count("epochs") == 0)
    lifetime.end()
    await hub.isOff()
  }

  @Test func `a receiver that keeps sending counts as acquiring ten seconds after its last position`() async {
    _ = await statuses.first { $0.power == .acquiring }
    // The second epoch ends the first, and the silence after it ends the second.
    terminal.write(position(10) + position(11))
    #expect(hub.waits { count("epochs") == 2 })
    #expect(hub.devices[0].power == .tracking)
    clock.advance(by: .seconds(6))
    terminal.write(nmeaLine("GPTXT,01,01,02,no antenna"))
    #expect(hub.waits { count("sentences") == 3 })
    #expect(hub.devices[0].power == .tracking)
    clock.advance(by: .seconds(5))
    terminal.write(nmeaLine("GPTXT,01,01,02,no antenna"))
    _ = await statuses.values { $0.last?.power == .acquiring }
    #expect(hub.devices[0].reason == "it has lost its fix")
    terminal.write(position(40) + position(41))
    _ = await statuses.values { $0.last?.power == .tracking }
    lifetime.end()
    await hub.isOff()
  }

  @Test func `a receiver's impossible values are counted, and named until a minute after the last one`() async {
    _ = await statuses.first { $0.power == .acquiring }
    func epoch(_ second: Int, height: String, knots: String = "1.0") -> String {
      let place = "5231.00\(second),N,01322.0000,E"
      return nmeaLine("GPGGA,1200\(second).00,\(place),1,08,0.9,\(height),M,40.0,M,,")
        + nmeaLine("GPRMC,1200\(second).00,A,\(place),\(knots),45.0,211126,,,A")
    }
    terminal.write(epoch(10, height: "40.0"))
    #expect(hub.waits { count("sentences") == 2 })
    #expect(hub.devices[0].warning == nil && count("implausible") == 0)
    terminal.write(epoch(11, height: "999999999999"))
    #expect(hub.monitors[0].changes.waits { $0.warning == "it reports impossible values, which are left out: heights" })
    terminal.write(epoch(12, height: "999999999999", knots: "99999999"))
    #expect(
      hub.monitors[0].changes.waits {
        $0.warning == "it reports impossible values, which are left out: heights, "
          + "speeds"
      }
    )
    #expect(hub.waits { count("implausible") == 3 })
    clock.advance(by: .seconds(59))
    terminal.write(epoch(20, height: "40.0"))
    #expect(hub.waits { count("sentences") == 8 })
    #expect(hub.devices[0].warning != nil)
    clock.advance(by: .seconds(2))
    terminal.write(epoch(22, height: "40.0"))
    #expect(hub.monitors[0].changes.waits { $0.warning == nil })
    #expect(count("implausible") == 3)
    // A problem that is over is not named again.
    terminal.write(epoch(23, height: "40.0", knots: "99999999"))
    #expect(hub.monitors[0].changes.waits { $0.warning == "it reports impossible values, which are left out: speeds" })
    lifetime.end()
    await hub.isOff()
  }

  @Test func `a receiver that does not use its own inertial sensors is reported as a warning`() async {
    _ = await statuses.first { $0.power == .acquiring }
    func epochs(_ seconds: ClosedRange<UInt8>, fusion mode: UInt8) -> [UInt8] {
      seconds.flatMap { second in
        MadeMessage.navPVT(
          timeOfWeekMilliseconds: 129_618_000 + UInt32(second) * 1000, latitudeDegrees: 52.5 + Double(second) * 1e-4,
          longitudeDegrees: 13.4, second: second)
          + MadeMessage.ubx(0x1010, [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, mode, 0, 0, 0])
      }
    }
    terminal.write(epochs(10...12, fusion: 1))
    _ = await statuses.values { $0.last?.power == .tracking }
    #expect(hub.devices[0].warning == nil)
    for (mode, seconds, words) in [
      (2, 13...15, "it does not use its own inertial sensors at present"),
      (3, 19...21, "it no longer uses its own inertial sensors"),
    ] as [(UInt8, ClosedRange<UInt8>, String)] {
      terminal.write(epochs(seconds, fusion: mode))
      #expect(hub.monitors[0].changes.waits { $0.warning?.contains(words) == true }, "\(hub.devices[0])")
      terminal.write(epochs(seconds.upperBound + 1...seconds.upperBound + 3, fusion: 1))
      #expect(hub.monitors[0].changes.waits { $0.warning == nil }, "\(hub.devices[0])")
    }
    lifetime.end()
    await hub.isOff()
  }
}
