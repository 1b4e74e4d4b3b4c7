import MonotonicTime
import Testing

@testable import Hub

/// The energy of one device, and its payers, tested without a device.
struct EnergyTotalsTests {
  private func at(_ hours: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: 0) + .seconds(3600 * hours) }

  private func payers(_ names: String...) -> EnergyByClient.Payers { EnergyByClient.Payers(holders: names) }

  @Test func `each use of an hour is charged to its payers`() {
    var totals = EnergyTotals(at: at(0))
    totals.charge(payers("watch"), waiting: payers("fence"))
    #expect(
      totals.goOn(until: at(1), .starting, drawing: 100)
        == EnergyCharge(milliwattHours: 100, payers: payers("watch"), seconds: 3600))
    // The client `log` came after the start, so it does not pay for it.
    totals.charge(payers("watch", "log"), waiting: nil)
    #expect(totals.goOn(until: at(2), .starting, drawing: 100)?.payers == payers("watch"))
    #expect(totals.goOn(until: at(3), .measuring, drawing: 100)?.payers == payers("watch", "log"))
    #expect(totals.goOn(until: at(4), .waitingForMotion(milliamperes: 1), drawing: 1)?.payers == payers("fence"))
    #expect(totals.goOn(until: at(5), .resting, drawing: 1)?.payers == .standby)
    totals.charge(payers(), waiting: payers())
    #expect(totals.goOn(until: at(6), .measuring, drawing: 100)?.payers == .idleTimeout)
    #expect(totals.goOn(until: at(7), .waitingForMotion(milliamperes: 1), drawing: 1)?.payers == .standby)
    #expect(totals.onTime == .seconds(4 * 3600), "a wait for motion and a rest are no time on")
    #expect(totals.milliwattHours == 403 && totals.measuredMilliwattHours == 0)
    #expect(totals.energyByClient.milliwattHours == 403)
  }

  @Test func `a measured power replaces the stated one, and only work counts for the power at work`() {
    var totals = EnergyTotals(at: at(0))
    totals.measuredMilliwatts = 20
    _ = totals.goOn(until: at(1), .resting, drawing: 5)
    #expect(totals.workingMilliwatts == nil && totals.measuredMilliwattHours == 20)
    totals.measuredMilliwatts = 80
    #expect(totals.goOn(until: at(2), .measuring, drawing: 100)?.milliwattHours == 80)
    #expect(totals.workingMilliwatts == 80)
    totals.measuredMilliwatts = nil
    _ = totals.goOn(until: at(3), .measuring, drawing: 100)
    #expect(totals.milliwattHours == 200 && totals.measuredMilliwattHours == 100 && totals.workingMilliwatts == 80)
  }

  @Test func `without power there is nothing to charge`() {
    var totals = EnergyTotals(at: at(0))
    #expect(totals.goOn(until: at(1), .resting, drawing: 0) == nil)
    #expect(totals.goOn(until: at(1), .measuring, drawing: 100) == nil, "no time has passed")
  }

  @Test func `a successor continues the totals and the counters, and counts no hour twice`() {
    var old = EnergyTotals(at: at(0))
    _ = old.goOn(until: at(1), .measuring, drawing: 100)
    let first = old.totals(wakes: 1, [DeviceStatus.Counter("bytes", 7), DeviceStatus.Counter("errors", 2)])
    old.close()
    #expect(old.goOn(until: at(2), .measuring, drawing: 100) == nil && old.milliwattHours == 100)
    var new = EnergyTotals(at: at(0))
    new.open(with: first, at: at(2))
    #expect(new.goOn(until: at(3), .measuring, drawing: 50)?.milliwattHours == 50)
    let present = [DeviceStatus.Counter("bytes", 3)]
    #expect(new.counters(present) == [DeviceStatus.Counter("bytes", 10)])
    let second = new.totals(wakes: 2, present)
    #expect(second.onTime == .seconds(2 * 3600) && second.wakes == 2 && second.energyMilliwattHours == 150)
    #expect(second.counters == [DeviceStatus.Counter("bytes", 10), DeviceStatus.Counter("errors", 2)])
  }
}
