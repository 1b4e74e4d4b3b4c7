import Guarding
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Hub

/// Switching off what a previous hub left on, with lines and buses that hang.
@Suite(.timeLimit(.minutes(10)))
struct MakingSafeTests {
  private func power(_ line: String) -> String { "power: { switch: 'gpio', chip: 'simulated', line: '\(line)' }" }

  private func hub(_ devices: String, _ hardware: FaultyHardware) throws -> Hub {
    Hub(board: try Board(json5: Array("{ name: 'x', devices: { \(devices) } }".utf8), file: "x"), hardware: hardware)
  }

  /// Makes the devices safe on another thread, and then lets the limit pass.
  ///
  /// - Parameter whileRunning: is given the lines and chips whose result is known
  private func run(_ hub: Hub, _ clock: ManualClock, _ whileRunning: (Recorder<Void>) -> Void) -> SafetyReport {
    let reports = Recorder<[SafetyReport]>()
    let ended = Recorder<Void>()
    var making = MakingSafe([hub], clock: clock)
    making.stepEnded = { ended.append(()) }
    let error = DetachedThread.start("making safe") { [making] in reports.append(making.run()) }
    #expect(error == 0)
    whileRunning(ended)
    clock.advance(by: MakingSafe.limit)
    #expect(reports.waits { !$0.isEmpty })
    return reports.values.first?.first ?? SafetyReport()
  }

  @Test func `a line that hangs keeps no other line high and no chip awake, and is reported`() throws {
    let hardware = FaultyHardware()
    hardware.set(.hangs, line: "gps-power")
    let hub = try hub(
      """
      gps: { driver: 'nmea', port: 'simulated/gps', speed: 9600, \(power("gps-power")) },
      mag: { driver: 'lis3mdl', bus: 'simulated/i2c', \(power("mag-power")) },
      imu: { driver: 'mpu-6050', bus: 'simulated/i2c' }
      """, hardware)
    let clock = ManualClock()
    let report = run(hub, clock) { ended in
      // This happens while the first line hangs.
      #expect(hardware.hangCounts.waits { $0 == 1 })
      #expect(hardware.waits(for: false, of: "mag-power"))
      #expect(hardware.transactionCount(at: 0x68) == 0)
      #expect(ended.waits { $0.count == 1 })
      clock.advance(by: .seconds(1))
      // The chip is identified and put to sleep.
      #expect(hardware.waits(forTransactions: 2, at: 0x68) && hardware.hangCount == 1)
      #expect(ended.waits { $0.count == 2 })
    }
    #expect(report.problems.contains("gps: it cannot be switched off: no answer for 4 s"))
    #expect(report.problems.count == 1)
    #expect(report.hasPowerLines)
    hardware.set(nil, line: "gps-power")
    #expect(hardware.waits(for: false, of: "gps-power"))
  }

  @Test func `chips that hang keep no line high and do not delay the start`() throws {
    let hardware = FaultyHardware()
    hardware.setHangs(true, at: 0x68)
    hardware.setHangs(true, at: 0x69)
    let hub = try hub(
      """
      imu: { driver: 'mpu-6050', bus: 'simulated/i2c' }, spare: { driver: 'bmi160', bus: 'simulated/i2c', address: 0x69 },
      gps: { driver: 'nmea', port: 'simulated/gps', speed: 9600, \(power("gps-power")) }
      """, hardware)
    let clock = ManualClock()
    let report = run(hub, clock) { ended in
      #expect(hardware.hangCounts.waits { $0 == 2 })
      #expect(ended.waits { $0.count == 1 })
      #expect(hardware.level(of: "gps-power") == false)
    }
    #expect(report.problems.map { $0.prefix(5) } == ["imu: ", "spare"])
    hardware.setHangs(false, at: 0x68)
    hardware.setHangs(false, at: 0x69)
    #expect(hardware.hangCounts.waits { $0 == 0 })
  }
}
