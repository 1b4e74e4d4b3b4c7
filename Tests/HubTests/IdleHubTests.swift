import Guarding
import Publishing
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Hub

/// A hub without clients does nothing, whatever its board file contains.
@Suite(.timeLimit(.minutes(10)))
struct IdleHubTests {
  private static let board =
    "{ name: 'x', devices: { "
    + "gps: { driver: 'nmea', port: '/dev/gps', speed: 9600, power: { switch: 'gpio', chip: 'c', line: 'l', "
    + "currentMilliamperes: 100, supplyVolts: 3.6, linger: 'learned', milliwattHoursPerDay: 24, "
    + "whenShort: [ { accuracyMetres: 60 }, { everySeconds: 300 } ] } }, "
    + "imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A, power: { currentMilliamperes: 1, "
    + "supplyVolts: 3.3, lingerSeconds: 5, milliwattHoursPerDay: 1 } } }, "
    + "fences: { anchor: { circle: [52.5167, 13.3667, 40] } } }"

  private let clock = ManualClock()
  private let terminal = PseudoTerminal()

  @Test func `with budgets and fences, no timer is set before the first client comes or after the last has left`()
    async throws
  {
    let wire = ScheduleBench.Wire(terminal.path, SimulatedHardware(clock: clock), clock)
    let hub = Hub(
      board: try Board(json5: Array(Self.board.utf8), file: "x"), on: Machine(hardware: wire, clock: clock))
    func passDays() {
      #expect(clock.waitingCount == 0)
      for _ in 0..<3 {
        clock.advance(by: .seconds(86_400))
        // Reading the devices' status creates no timer either.
        #expect(hub.devices.allSatisfy { $0.holders.isEmpty && $0.budget != nil && $0.schedules.isEmpty })
        #expect(clock.waitingCount == 0)
      }
    }
    passDays()
    #expect(wire.state.withLock { $0.rises } == 0)

    let fences = hub.board.fences.map { FenceMonitor($0, clock: clock, report: { _ in }) }
    #expect(fences.count == 1)
    for fence in fences { fence.begin(on: hub) }
    let leases = [
      hub.fixes(on: Schedule(every: .seconds(60))).subscribe(as: "log[7]", receiveValue: { _ in }),
      hub.state.subscribe(as: "web[8]", receiveValue: { _ in }),
    ]
    #expect(hub.waits { hub.devices.allSatisfy { $0.wakes >= 1 } } && clock.waitingCount > 0)
    for lease in leases { lease.cancel() }
    for fence in fences { fence.end() }
    func areLeft(_ isAtRest: (DeviceStatus.Power) -> Bool) -> Bool {
      hub.devices.allSatisfy { $0.holders.isEmpty && $0.schedules.isEmpty && isAtRest($0.power) }
    }
    #expect(hub.waits { areLeft { $0 == .lingering || !$0.isWorking } })
    // The idle timeouts end.
    clock.advance(by: .seconds(3600))
    #expect(hub.waits { areLeft { !$0.isWorking } && clock.waitingCount == 0 })
    let rises = wire.state.withLock { $0.rises }
    passDays()
    #expect(wire.state.withLock { !$0.isHigh && $0.rises == rises })
    hub.shutDown()
    await hub.isOff()
    #expect(clock.waitingCount == 0)
  }
}
