import MonotonicTime
import NMEA
import Testing

@testable import Devices

/// The reports about a receiver in trouble, and its restarts.
struct TroubleMachineTests {
  private typealias Effect = TroubleMachine.Effect

  private func second(_ second: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: second * 1_000_000_000) }

  private func fix(at: Int64) -> GNSSObservation {
    var fix = GNSSFix()
    fix.mode = .threeDimensional
    return GNSSObservation(at: second(at), fix: fix, sky: [])
  }

  /// Takes a position each second, and returns the reports.
  private func work(_ machine: inout TroubleMachine, _ seconds: Range<Int64>) -> [Effect] {
    var effects: [Effect] = []
    for at in seconds { effects += machine.take(fix(at: at), isContradicted: false) }
    return effects
  }

  @Test func `a hung receiver comes before a contradicted one`() {
    let machine = TroubleMachine()
    #expect(machine.trouble(.time, isContradicted: true, at: second(0)) == .frozen(.time))
    #expect(machine.trouble(nil, isContradicted: true, at: second(0)) == .contradicted)
    #expect(machine.trouble(nil, isContradicted: false, at: second(0)) == nil)
  }

  @Test func `a restart is reported with its attempt, and the recovery once`() {
    var machine = TroubleMachine()
    let effects = machine.act(on: .contradicted, at: second(0), canBeTold: true, isSwitched: false)
    let text = "it repeats one position while the inertial sensors move: the hub restarts it, hot (attempt 1)"
    #expect(effects == [.report(text), .restart(.hot)])
    #expect(machine.act(on: .contradicted, at: second(1), canBeTold: true, isSwitched: false) == [])
    #expect(machine.reported == text)
    #expect(work(&machine, 10..<70) == [])
    #expect(work(&machine, 70..<90) == [.report(nil)])
    #expect(machine.reported == nil)
  }

  @Test func `a trouble without a remedy is reported once`() {
    var machine = TroubleMachine()
    let effects = machine.act(on: .frozen(.time), at: second(0), canBeTold: false, isSwitched: false)
    #expect(effects.count == 1 && machine.reported?.contains("can restart it") == true)
    #expect(machine.act(on: .frozen(.time), at: second(1), canBeTold: false, isSwitched: false) == [])
  }

  @Test func `a contradicted position does not count as a recovery`() {
    var machine = TroubleMachine()
    _ = machine.act(on: .frozen(.time), at: second(0), canBeTold: false, isSwitched: false)
    #expect(machine.take(fix(at: 1), isContradicted: true) == [])
    #expect(machine.take(fix(at: 2), isContradicted: false) == [.report(nil)])
  }

  @Test func `another receiver on the line begins without trouble`() {
    var machine = TroubleMachine()
    #expect(machine.replaced() == [])
    _ = machine.act(on: .frozen(.position), at: second(0), canBeTold: true, isSwitched: true)
    #expect(machine.replaced() == [.report(nil)])
    let effects = machine.act(on: .frozen(.position), at: second(1), canBeTold: true, isSwitched: true)
    #expect(effects.last == .restart(.power))
  }
}
