import Glibc
import MonotonicTime
import TestSupport
import Testing
import VirtualBench

/// The watchdog while a reader hangs.
extension HardwareInTheLoop.HangTests {
  @Test func `a reader that the loss of its supply frees fails alone, and the watchdog stays silent`() throws {
    let pings = try NotifiedPings()
    let hub = hub(environment: pings.environment)
    let subscriber = Subscriber(hub)
    #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
    for _ in 0..<3 {
      board.imuBus.setHanging(true, endsWithSupply: true)
      let began = clock.now
      #expect(eventually(within: .seconds(10)) { !isOn("imu") }, "the supply is not cut: \(describe(hub))")
      let cut = clock.now - began
      #expect(cut < Self.patience + Self.checks + .milliseconds(100), "\(cut)")
      #expect(eventually(within: .seconds(120)) { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
      #expect(hub.devicesNow["gps"].power != "failed", "\(describe(hub))")
    }
    wait(milliseconds: 30_000)
    let longest = pings.longestPause
    #expect(longest < pings.limit, "systemd would have ended the hub: \(longest) without a ping")
    Bench.saw(
      "3 hangs that end with the supply: each time on again, longest pause of the pings "
        + "\(Bench.milliseconds(longest))"
    )
    subscriber.leave()
    #expect(end(hub) <= Self.longestEnd)
    clearUp(after: hub, "hangs that end with the supply")
  }

  @Test func `the watchdog notices a reader that nothing frees`() throws {
    let pings = try NotifiedPings()
    let hub = hub(environment: pings.environment)
    let subscriber = Subscriber(hub)
    #expect(eventually { hub.devicesNow["imu"].power == "tracking" }, "\(describe(hub))")
    board.imuBus.setHanging(true)
    #expect(eventually(within: .seconds(10)) { board.imuBus.hangsSince != nil }, "\(describe(hub))")
    let began = board.imuBus.hangsSince ?? clock.now
    #expect(eventually(within: .seconds(10)) { hub.devicesNow["imu"].power == "failed" }, "\(describe(hub))")
    let failed = clock.now - began
    let reason = hub.devicesNow["imu"].reason
    #expect(eventually(within: .seconds(1)) { !isOn("imu") }, "its supply is on: \(describe(hub))")
    // For systemd, a hub without a ping within its limit has failed.
    #expect(eventually(within: .seconds(60)) { clock.now - pings.latest >= pings.limit }, "\(describe(hub))")
    let lastPing = pings.latest - began
    // The reader counts as stuck, its supply is cut, and it has ten seconds to return. Then there are no more pings.
    let limit = Self.patience + Self.checks + .seconds(10) + .milliseconds(200)
    #expect(lastPing < limit, "last ping \(lastPing) after the hang began")
    #expect(lastPing > .seconds(9), "the watchdog gave up before the reader had time to return: \(lastPing)")
    // systemd aborts the process, which takes effect only when the transfer returns, and then kills it. Lines that
    // the hub held stay requested, because a process keeps its files open until its last thread has ended.
    let ending = end(hub, SIGKILL)
    subscriber.leave()
    let safe = Program(["safe", hub.boardFile])
    let code = safe.wait()
    let levels = board.levels
    Bench.saw(
      "a reader that nothing frees: failed after \(Bench.milliseconds(failed)) (\(reason)), last ping "
        + "\(Bench.milliseconds(lastPing)) after it began, ended \(Bench.milliseconds(ending)) after SIGKILL; safe "
        + "before it is free: exit \(code), \(levels)")
    clearUp(after: hub, "a reader that nothing frees")
  }
}
