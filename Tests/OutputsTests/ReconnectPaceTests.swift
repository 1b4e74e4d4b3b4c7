import TestSupport
import Testing

@testable import Outputs

/// When a broker that is away is tried again.
struct ReconnectPaceTests {
  @Test func `ever later, and no oftener than once a minute after ten minutes`() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<100 {
      var pace = ReconnectPace()
      var sum = Duration.zero
      var waits: [Duration] = []
      while sum < .seconds(3600) {
        waits.append(pace.next(using: &random))
        if sum > .seconds(600) { #expect(waits.last! >= .seconds(60)) }
        sum += waits.last!
      }
      #expect(waits[0] <= .seconds(1))
      #expect(waits.allSatisfy { $0 <= .seconds(90) })
      pace.reset()
      #expect(pace.next(using: &random) <= .seconds(1))
    }
  }

  @Test func `not all at once`() {
    var random = SeededRandom(seed: 8)
    let waits = (0..<1000).map { _ in
      var pace = ReconnectPace()
      return pace.next(using: &random).components.attoseconds / 10_000_000_000_000_000
    }
    // In no hundredth of a second a tenth of them.
    #expect(Dictionary(grouping: waits, by: { $0 }).values.allSatisfy { $0.count < 100 })
  }
}
