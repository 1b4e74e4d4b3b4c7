import Glibc
import MonotonicTime
import TestSupport
import Testing
import VirtualBench

/// The end of a hub while calls to the kernel hang.
extension HardwareInTheLoop.HangTests {
  enum Hang: String, CaseIterable {
    case imu, barometer, expander, port, everything

    /// The devices whose lines cannot be switched while this hangs.
    var unswitchable: [String] { self == .expander || self == .everything ? ["spare", "baro"] : [] }
  }

  private func begin(_ hang: Hang) {
    if [.imu, .everything].contains(hang) { board.imuBus.setHanging(true) }
    if [.barometer, .everything].contains(hang) { board.spareBus.setHanging(true) }
    if [.expander, .everything].contains(hang) { board.expander.bus.setHanging(true) }
    if [.port, .everything].contains(hang) { board.port.setBlocked(true) }
  }

  /// The hub is told to end before and after it has noticed the hang.
  @Test(arguments: Hang.allCases, [1, 8])
  func `SIGTERM ends the hub within five seconds, whatever hangs`(_ hang: Hang, _ seconds: Int) throws {
    let hub = hub()
    // The receiver's commands wait from the start on a blocked line.
    if hang == .port { begin(hang) }
    let subscriber = Subscriber(hub)
    #expect(
      eventually {
        hub.devicesNow["gps"].counters["sentences"] ?? 0 > 0 && hub.devicesNow["imu"].power == "tracking"
      },
      "\(describe(hub))")
    #expect(eventually { hub.devicesNow["baro"].power == "tracking" }, "\(describe(hub))")
    if hang != .port { begin(hang) }
    wait(milliseconds: 1000 * seconds)
    let before = describe(hub)
    let ending = end(hub)
    #expect(ending <= Self.longestEnd, "\(hang), \(seconds) s: \(ending); before SIGTERM: \(before)")
    // The meter reads each line every two milliseconds.
    wait(milliseconds: 50)
    for id in Self.allDevices where !hang.unswitchable.contains(id) {
      #expect(!isOn(id), "\(hang), \(seconds) s: \(id) is on after the end; before SIGTERM: \(before)")
    }
    let levels = board.levels
    subscriber.leave()
    clearUp(after: hub, "\(hang), \(seconds) s")
    Bench.saw(
      "\(hang.rawValue) hangs for \(seconds) s: ended \(Bench.milliseconds(ending)) after SIGTERM, then \(levels)")
  }
}
