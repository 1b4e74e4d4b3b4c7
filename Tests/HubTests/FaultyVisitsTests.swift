import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// Clients that come while something is broken leave no thread, no timer and no power line on.
@Suite(.timeLimit(.minutes(10)))
struct FaultyVisitsTests {
  enum Fault: CaseIterable {
    case none, absentChip, usedChip, hangingChip, missingLine, stubbornLine, hangingLine
  }

  private static let address: UInt8 = 0x68
  private static let line = "imu-power"

  private let hardware = FaultyHardware()
  private let clock = ManualClock()
  /// The supervisor's clock.
  private let patience = ManualClock()

  /// - Parameter id: names the reader's thread
  private func hub(_ id: String) throws -> Hub {
    let text = """
      { name: 'x', devices: { '\(id)': { driver: 'mpu-6050', bus: 'simulated/i2c',
          power: { switch: 'gpio', chip: 'simulated', line: '\(Self.line)', lingerSeconds: 0 } } } }
      """
    let machine = Machine(hardware: hardware, clock: clock, supervisor: Supervisor(clock: patience))
    return Hub(board: try Board(json5: Array(text.utf8), file: "x"), on: machine)
  }

  private func hasThread(_ name: String) -> Bool {
    Files.names(in: "/proc/self/task").contains { thread in
      (try? Files.bytes(of: "/proc/self/task/\(thread)/comm")) == Array("\(name)\n".utf8)
    }
  }

  private func begin(_ fault: Fault) {
    switch fault {
    case .none, .stubbornLine: break
    case .absentChip: hardware.simulated.inject(.noAcknowledge, at: Self.address)
    case .usedChip: hardware.setInUse(true, at: Self.address)
    case .hangingChip: hardware.setHangs(true, at: Self.address)
    case .missingLine: hardware.set(.missing, line: Self.line)
    case .hangingLine: hardware.set(.hangs, line: Self.line)
    }
  }

  private func end(_ fault: Fault) {
    hardware.simulated.inject(nil, at: Self.address)
    hardware.setInUse(false, at: Self.address)
    hardware.setHangs(false, at: Self.address)
    hardware.set(nil, line: Self.line)
  }

  @Test(arguments: Fault.allCases)
  func `a visit on a fault path leaves no thread and no timer, and its line low`(_ fault: Fault) throws {
    let id = "\(fault)"
    let hub = try hub(id)
    let monitor = hub.monitors[0]
    for visit in 1...5 {
      begin(fault)
      let lease = hub.powerLease(of: id).subscribe(as: "test", receiveValue: { _ in })
      switch fault {
      case .none, .stubbornLine: #expect(monitor.changes.waits { $0.power == .tracking })
      case .absentChip, .usedChip, .missingLine: #expect(monitor.changes.waits { $0.power == .failed })
      case .hangingChip, .hangingLine: #expect(hardware.hangCounts.waits { $0 == 1 })
      }
      if fault == .stubbornLine { hardware.set(.refusesLow(times: 1), line: Self.line) }
      lease.cancel()
      if fault == .stubbornLine {
        #expect(monitor.changes.waits { $0.warning != nil })
        clock.advance(by: .seconds(1))
      }
      if fault == .hangingChip, visit % 2 == 0 {
        // The hub notices the hang, and cuts the supply.
        for _ in 0..<3 { patience.advance(by: .seconds(1)) }
        #expect(hardware.waits(for: false, of: Self.line))
      }
      end(fault)
      // Only the kernel's list of threads shows that a thread has ended.
      let isOver = eventually {
        !hasThread(id) && clock.waitingCount == 0 && patience.waitingCount == 0
          && hardware.level(of: Self.line) != true
      }
      #expect(isOver, "visit \(visit): \(clock.waitingCount), \(patience.waitingCount), \(hardware.levels.values)")
    }
    // The device still works for the next client.
    let lease = hub.powerLease(of: id).subscribe(as: "test", receiveValue: { _ in })
    #expect(monitor.changes.waits { $0.power == .tracking }, "\(hub.devices)")
    lease.cancel()
    hub.shutDown()
    #expect(eventually { !hasThread(id) && hardware.level(of: Self.line) == false })
  }
}
