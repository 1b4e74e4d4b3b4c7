import Glibc
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// A GPIO expander that fails or hangs.
extension HardwareInTheLoop.HangTests {
  @Test func `a power line that fails on a GPIO expander is reported, and is low once the expander works again`()
    throws
  {
    let hub = hub(["imu", "baro"])
    // The line cannot be requested.
    board.expander.inject(.noAcknowledge)
    let subscriber = Subscriber(hub)
    #expect(eventually(within: .seconds(10)) { hub.devicesNow["baro"].power == "failed" }, "\(describe(hub))")
    let refused = hub.devicesNow["baro"].reason
    #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
    board.expander.inject(nil)
    #expect(eventually(within: .seconds(120)) { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
    // The line cannot be driven low.
    board.expander.inject(.noAcknowledge)
    subscriber.leave()
    #expect(eventually(within: .seconds(5)) { !isOn("imu") }, "\(describe(hub))")
    wait(milliseconds: 3000)
    let kept = hub.devicesNow["baro"]
    #expect(isOn("baro"), "the twin took a transfer that it did not acknowledge")
    #expect(kept.power != "off", "the hub takes a line for low that is high: \(describe(hub))")
    board.expander.inject(nil)
    let restored = clock.now
    #expect(eventually(within: .seconds(70)) { !isOn("baro") }, "the line stays high: \(describe(hub))")
    let low = clock.now - restored
    #expect(eventually(within: .seconds(5)) { hub.isOff }, "\(describe(hub))")
    Bench.saw(
      "an expander that does not answer: '\(refused)'; a line that could not be driven low is \(kept.power), and low "
        + "\(Bench.milliseconds(low)) after the expander answers again")
    #expect(end(hub) <= Self.longestEnd)
    clearUp(after: hub, "an expander that fails")
  }

  @Test func `a power line that hangs on a GPIO expander holds up no other device`() throws {
    let hub = hub(["gps", "imu", "baro"])
    board.expander.bus.setHanging(true)
    var subscriber = Subscriber(hub)
    for id in ["gps", "imu"] { #expect(eventually(within: .seconds(10)) { isOn(id) }, "\(id): \(describe(hub))") }
    #expect(eventually(within: .seconds(10)) { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
    #expect(eventually(within: .seconds(10)) { hub.devicesNow["baro"].power == "failed" }, "\(describe(hub))")
    let reason = hub.devicesNow["baro"].reason
    subscriber.leave()
    #expect(eventually(within: .seconds(5)) { !isOn("gps") && !isOn("imu") }, "\(describe(hub))")
    board.expander.bus.setHanging(false)
    #expect(eventually(within: .seconds(30)) { board.areLinesLow && hub.isOff }, "\(describe(hub))")
    // The line is driven low as the last client leaves.
    subscriber = Subscriber(hub)
    #expect(eventually(within: .seconds(120)) { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
    board.expander.bus.setHanging(true)
    let left = clock.now
    subscriber.leave()
    #expect(eventually(within: .seconds(5)) { !isOn("gps") && !isOn("imu") }, "\(describe(hub))")
    let others = clock.now - left
    wait(milliseconds: 20_000)
    #expect(hub.devicesNow["baro"].power != "off", "the hub takes a line for low that is high: \(describe(hub))")
    // The hub serves the other devices in the meantime.
    let next = Subscriber(hub, parts: ["rates"])
    #expect(eventually(within: .seconds(10)) { next.states.contains { $0.rates != nil } }, "\(describe(hub))")
    next.leave()
    board.expander.bus.setHanging(false)
    let freed = clock.now
    #expect(eventually(within: .seconds(70)) { board.areLinesLow }, "\(describe(hub))")
    let low = clock.now - freed
    #expect(eventually(within: .seconds(70)) { hub.isOff }, "\(describe(hub))")
    Bench.saw(
      "an expander that hangs: '\(reason)'; the other lines low \(Bench.milliseconds(others)) after the last client, "
        + "its own \(Bench.milliseconds(low)) after it is free")
    #expect(end(hub) <= Self.longestEnd)
    clearUp(after: hub, "an expander that hangs")
  }
}
