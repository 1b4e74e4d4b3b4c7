import MonotonicTime
import Testing

@testable import Devices

struct SampleClockTests {
  @Test(arguments: [0.97, 1.0, 1.03])
  func `samples keep their true times although reads are late and the oscillator is wrong`(_ drift: Double) {
    var clock = SampleClock(rateHz: 1000)
    let truePeriod = 1_000_000 * drift
    var random = UInt64(1)
    var taken = 0
    var worst = 0.0
    for burst in 1...3000 {
      // Reads happen every 40 ms and up to 5 ms late.
      random = random &* 6_364_136_223_846_793_005 &+ 1
      let readAt = Double(burst) * 40_000_000 + Double(random >> 40) / 16_777_216 * 5_000_000
      let available = Int(readAt / truePeriod)
      let count = available - taken
      let (first, period) = clock.stamp(count, readAt: MonotonicInstant(nanoseconds: Int64(readAt)))
      let newest = Double(first) + period * Double(count - 1)
      taken = available
      if burst > 500 { worst = max(worst, abs(newest - truePeriod * Double(available))) }
    }
    #expect(worst < 1_500_000, "\(worst / 1e6) ms")
  }

  @Test(arguments: [0.95, 1.05])
  func `an edge gives the time of its sample, and the period of earlier samples`(_ drift: Double) {
    var clock = SampleClock(rateHz: 100)
    let period = 10_000_000 * drift
    var newest = 0
    for burst in 1...100 {
      newest += 3 + burst % 3
      let edge = MonotonicInstant(nanoseconds: Int64(Double(newest) * period))
      let (first, learned) = clock.stamp(3 + burst % 3, edge: edge)
      let stamped = Double(first) + learned * Double(2 + burst % 3)
      #expect(abs(stamped - Double(edge.nanoseconds)) < 2)
      if burst > 60 { #expect(abs(learned - period) < 0.01 * period) }
    }
  }
}
