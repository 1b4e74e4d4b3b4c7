import Glibc
import MonotonicTime
import TestSupport
import Testing
import VirtualBench

/// A standby device next to one that hangs.
extension HardwareInTheLoop.HangTests {
  @Test func `a standby IMU takes over from a hung one within its patience and a second`() throws {
    let hub = hub(["imu", "spare"])
    let subscriber = Subscriber(hub, parts: ["rates"])
    var wakes: [Duration] = []
    var rates: [Duration] = []
    for round in 0..<10 {
      #expect(
        eventually(within: .seconds(300)) {
          hub.devicesNow["imu"].power == "tracking" && hub.devicesNow["spare"].power == "off"
        }, "round \(round): \(describe(hub))")
      // Each round hangs at a different time between two checks.
      wait(milliseconds: 97 * round)
      let spare = try line("spare")
      let rises = spare.rises.count
      subscriber.forget()
      board.imuBus.setHanging(true)
      #expect(eventually(within: .seconds(5)) { board.imuBus.hangsSince != nil }, "\(describe(hub))")
      let began = board.imuBus.hangsSince ?? clock.now
      let tookOver = eventually(within: .seconds(20)) {
        subscriber.states.contains { $0.rates?.source == "spare" }
      }
      #expect(tookOver, "round \(round): no rates of the standby IMU: \(describe(hub))")
      rates.append(clock.now - began)
      #expect(spare.rises.count == rises + 1, "round \(round): \(spare.all)")
      if let rise = spare.rises.last { wakes.append(rise - began) }
      #expect(!isOn("imu"), "round \(round): the hung IMU has its supply: \(describe(hub))")
      board.imuBus.setHanging(false)
    }
    wakes.sort()
    rates.sort()
    let (wake, rate) = (wakes.last ?? .zero, rates.last ?? .zero)
    #expect(wake <= Self.patience + Self.checks + .milliseconds(50), "\(wakes)")
    // The chip itself takes a tenth of a second to start, and the state is sent 50 times a second.
    #expect(rate <= Self.patience + Self.checks + .milliseconds(500), "\(rates)")
    Bench.saw(
      "10 hangs: the standby IMU has its supply after at most \(Bench.milliseconds(wake)), and its rates are in the "
        + "state after \(Bench.milliseconds(rates[rates.count / 2])) (median), at most \(Bench.milliseconds(rate))")
    subscriber.leave()
    #expect(end(hub) <= Self.longestEnd)
    clearUp(after: hub, "standby")
  }
}
