import TestSupport
import Testing

@testable import Hub

/// How long a receiver is on to keep positions within a bound, on journeys with known truth.
struct SimulatedJourneyTests {
  private static let journeys = 50

  /// The mean shares of the time over fifty journeys of an hour.
  private static func mean(
    _ kind: SimulatedJourney.Kind, hasReckoning: Bool, bound: Double = 25
  ) -> SimulatedJourney.Outcome {
    var mean = SimulatedJourney.Outcome()
    for number in 0..<journeys {
      var journey = SimulatedJourney(kind, hasReckoning: hasReckoning, SeededRandom(seed: UInt64(number)))
      let outcome = journey.run(bound: bound)
      mean.onShare += outcome.onShare / Double(journeys)
      mean.withinShare += outcome.withinShare / Double(journeys)
      mean.fixCount += outcome.fixCount
    }
    return mean
  }

  @Test(arguments: [SimulatedJourney.Kind.city, .motorway])
  func `with dead reckoning, a moving board keeps within the bound with its receiver off most of the time`(
    _ kind: SimulatedJourney.Kind
  ) {
    let mean = Self.mean(kind, hasReckoning: true)
    #expect(mean.withinShare >= 0.95 && mean.onShare <= 0.4, "\(mean)")
  }

  @Test func `a tunnel exceeds the error bound only while there are no fixes`() {
    let mean = Self.mean(.tunnels, hasReckoning: true)
    // There are no satellites for an eighth of the time.
    #expect(mean.withinShare >= 0.9 && mean.onShare <= 0.5, "\(mean)")
  }

  @Test func `a still board gets a fix every few hours`() {
    let mean = Self.mean(.parked, hasReckoning: true)
    #expect(mean.withinShare >= 0.99 && mean.onShare <= 0.005 && mean.fixCount <= 2 * Self.journeys, "\(mean)")
  }

  @Test func `a wider bound needs fewer fixes`() {
    let (narrow, wide) = (
      Self.mean(.city, hasReckoning: true), Self.mean(.city, hasReckoning: true, bound: 100)
    )
    #expect(wide.withinShare >= 0.95 && wide.onShare < narrow.onShare / 1.5, "\(narrow), \(wide)")
  }

  @Test func `without dead reckoning, a moving board keeps its receiver on`() {
    let mean = Self.mean(.city, hasReckoning: false)
    #expect(mean.withinShare >= 0.95 && mean.onShare > 0.5, "\(mean)")
  }
}
