import Glibc
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// Many visits of clients while calls to the kernel hang and fail.
extension HardwareInTheLoop.HangTests {
  private enum Fault: CaseIterable {
    case imuHangs, imuHangsUntilItsSupplyIsCut, spareAndBarometerHang, expanderHangs, expanderFails, portIsBlocked
  }

  private func begin(_ fault: Fault) {
    switch fault {
    case .imuHangs: board.imuBus.setHanging(true)
    case .imuHangsUntilItsSupplyIsCut: board.imuBus.setHanging(true, endsWithSupply: true)
    case .spareAndBarometerHang: board.spareBus.setHanging(true)
    case .expanderHangs: board.expander.bus.setHanging(true)
    case .expanderFails: board.expander.inject(.noAcknowledge)
    case .portIsBlocked: board.port.setBlocked(true)
    }
  }

  @Test func `a thousand visits among hangs leave every line low, and SIGTERM ends the hub within five seconds`()
    throws
  {
    var random = SeededRandom()
    var endings: [Duration] = []
    var rises = 0
    var counts: [Fault: Int] = [:]
    // In each round the hub is told to end in the middle of the last visit.
    for round in 0..<20 {
      let hub = hub()
      for number in 0..<50 {
        let isLast = number == 49
        let faults = randomFaults(atLeast: isLast ? 1 : 0, &random)
        for fault in faults { counts[fault, default: 0] += 1 }
        let what = "round \(round), visit \(number), \(faults)"
        let subscriber = Subscriber(hub)
        wait(milliseconds: .random(in: 0...100, using: &random))
        for fault in faults { begin(fault) }
        // Some hangs are long enough for the hub to notice.
        let isLong = isLast || number % 17 == 16
        wait(milliseconds: .random(in: 0...(isLong ? 8000 : 100), using: &random))
        if isLast {
          let before = describe(hub)
          let ending = end(hub)
          endings.append(ending)
          #expect(ending <= Self.longestEnd, "\(what): ended after \(ending); before SIGTERM: \(before)")
          wait(milliseconds: 50)
          #expect(!isOn("gps") && !isOn("imu"), "\(what): after SIGTERM \(board.levels); before it: \(before)")
        }
        if Bool.random(using: &random) { subscriber.leave() }
        board.free()
        subscriber.leave()
      }
      clearUp(after: hub, "round \(round)")
      rises += board.lines.values.reduce(0) { $0 + $1.rises.count }
    }
    // A hub that is not told to end switches everything off by itself.
    let hub = hub()
    for number in 0..<20 {
      let faults = randomFaults(atLeast: 1, &random)
      let subscriber = Subscriber(hub)
      wait(milliseconds: .random(in: 0...100, using: &random))
      for fault in faults { begin(fault) }
      wait(milliseconds: .random(in: 0...(number % 5 == 4 ? 8000 : 100), using: &random))
      subscriber.leave()
      board.free()
    }
    #expect(eventually(within: .seconds(120)) { board.areLinesLow }, "with no client left: \(describe(hub))")
    #expect(eventually(within: .seconds(120)) { hub.openDevices.isEmpty }, "\(hub.openDevices), \(describe(hub))")
    endings.sort()
    Bench.saw(
      "1000 visits, \(counts.values.reduce(0, +)) hangs and faults, \(rises) rises: lines low; 20 ends in the middle "
        + "of a visit: \(Bench.milliseconds(endings[10])) after SIGTERM (median), "
        + "\(Bench.milliseconds(endings[19])) at most")
    #expect(end(hub) <= Self.longestEnd)
    clearUp(after: hub, "the last hub")
  }

  /// Up to three faults at once.
  private func randomFaults(atLeast least: Int, _ random: inout SeededRandom) -> [Fault] {
    let count = Int.random(in: least...3, using: &random)
    return Array(Fault.allCases.shuffled(using: &random).prefix(count))
  }
}
