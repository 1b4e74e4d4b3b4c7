import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Visits in the course of which buses and lines fail and hang.
@Suite(.timeLimit(.minutes(10)))
struct FaultVisitsTests {
  /// The kernel's clock, which knows which actions still wait.
  private final class CountingClock: MonotonicTimeSource {
    private struct Reference: Sendable {
      weak var action: ScheduledAction?
    }

    private let clock = MonotonicClock()
    private let references = Guarded<[Reference]>([])

    var now: MonotonicInstant { clock.now }
    var minimumResolution: Duration { clock.minimumResolution }

    /// An action that has been performed or cancelled is released.
    var waitingCount: Int { references.withLock { $0.count { $0.action != nil } } }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
      let scheduled = clock.schedule(at: deadline, action)
      references.withLock { references in
        references.removeAll { $0.action == nil }
        references.append(Reference(action: scheduled))
      }
      return scheduled
    }
  }

  private enum Fault: CaseIterable { case none, busHangs, spareHangs, lineHangs, lineIsStubborn }

  private let hardware = FaultyHardware()
  private let clock = CountingClock()
  private let supervisorClock = ManualClock()

  private func inject(_ fault: Fault) {
    switch fault {
    case .none: break
    case .busHangs: hardware.setHangs(true, at: 0x68)
    case .spareHangs: hardware.setHangs(true, at: 0x69)
    case .lineHangs: hardware.set(.hangs, line: "imu-power")
    case .lineIsStubborn: hardware.set(.refusesLow(times: 1), line: "imu-power")
    }
  }

  private func heal() {
    for address: UInt8 in [0x68, 0x69] { hardware.setHangs(false, at: address) }
    hardware.set(nil, line: "imu-power")
  }

  /// The threads of this hub's readers.
  private var readerCount: Int {
    Files.names(in: "/proc/self/task").count { thread in
      let bytes = (try? Files.bytes(of: "/proc/self/task/\(thread)/comm")) ?? []
      return String(decoding: bytes, as: UTF8.self).hasPrefix("visited-")
    }
  }

  @Test func `a hundred visits with hangs leave every line low, and no thread and no timer behind`() async throws {
    func power(_ line: String) -> String {
      "power: { switch: 'gpio', chip: 'simulated', line: '\(line)', lingerSeconds: 0 }"
    }
    let text = """
      { name: 'x', devices: {
        'visited-imu': { driver: 'mpu-6050', bus: 'simulated/i2c', rateHz: 100, \(power("imu-power")) },
        'visited-spare': { driver: 'bmi160', bus: 'simulated/i2c', rateHz: 100, \(power("bmi160-power")) } } }
      """
    let machine = Machine(hardware: hardware, clock: clock, supervisor: Supervisor(clock: supervisorClock))
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), on: machine)
    var random = SeededRandom()
    for _ in 0..<100 {
      let fault = Fault.allCases.randomElement(using: &random) ?? .none
      let isEarly = Bool.random(using: &random)
      if isEarly { inject(fault) }
      let lease = hub.state(parts: [.attitude]).subscribe(as: "visitor", receiveValue: { _ in })
      if !isEarly {
        #expect(eventually { hub.devices.contains { $0.power == .tracking } }, "\(hub.devices)")
        inject(fault)
      }
      for _ in 0..<Int.random(in: 0...4, using: &random) { supervisorClock.advance(by: .seconds(1)) }
      if Bool.random(using: &random) { lease.cancel() }
      heal()
      lease.cancel()
    }
    hub.shutDown()
    await hub.isOff()
    #expect(eventually { hardware.hangCount == 0 && readerCount == 0 }, "\(readerCount)")
    for line in ["imu-power", "bmi160-power"] {
      #expect(eventually { hardware.level(of: line) != true }, "\(hardware.levels.values.suffix(10))")
    }
    #expect(eventually { supervisorClock.waitingCount == 0 && clock.waitingCount == 0 }, "\(clock.waitingCount)")
  }
}
