import Journeys
import TestSupport
import Testing

/// How long a receiver is on to keep positions within a bound, on journeys with known truth.
struct SimulatedJourneyTests {
  @Test(arguments: [SimulatedJourney.Kind.city, .motorway])
  func `with dead reckoning, a moving board keeps within the bound with its receiver off most of the time`(
    _ kind: SimulatedJourney.Kind
  ) {
    let journeys = SimulatedJourney.fifty(kind, hasReckoning: true)
    #expect(journeys.errors.share(within: 25) >= 0.95 && journeys.onShare <= 0.4)
  }

  @Test func `a tunnel exceeds the error bound only while there are no fixes`() {
    let journeys = SimulatedJourney.fifty(.tunnels, hasReckoning: true)
    // There are no satellites for an eighth of the time.
    #expect(journeys.errors.share(within: 25) >= 0.9 && journeys.onShare <= 0.5)
  }

  @Test func `a still board gets a fix every few hours`() {
    let journeys = SimulatedJourney.fifty(.parked, hasReckoning: true)
    #expect(journeys.errors.share(within: 25) >= 0.99 && journeys.onShare <= 0.005 && journeys.fixCount <= 100)
  }

  @Test func `a vehicle that mostly stands needs less energy, and is more certain than with fixed intervals`() {
    let (city, errands) = (
      SimulatedJourney.fifty(.city, hasReckoning: true), SimulatedJourney.fifty(.errands, hasReckoning: true)
    )
    #expect(errands.errors.share(within: 25) >= 0.95 && errands.onShare < city.onShare / 2)
    let fixed = errands.withEqualEnergy {
      SimulatedJourney.fifty(.errands, hasReckoning: true, .every(seconds: $0))
    }
    #expect(fixed.outcome.errors.percentile95 > errands.errors.percentile95)
  }

  @Test func `a wider bound needs fewer fixes`() {
    let (narrow, wide) = (
      SimulatedJourney.fifty(.city, hasReckoning: true),
      SimulatedJourney.fifty(.city, hasReckoning: true, bound: 100)
    )
    #expect(wide.errors.share(within: 100) >= 0.95 && wide.onShare < narrow.onShare / 1.5)
  }

  @Test(arguments: [25.0, 100])
  func `a board whose dead reckoning is worse than it says keeps within the bound, and its receiver is on for longer`(
    bound: Double
  ) {
    let honest = SimulatedJourney.fifty(.city, hasReckoning: true, bound: bound)
    let overconfident = SimulatedJourney.fifty(.city, hasReckoning: true, errorRatio: 4, bound: bound)
    #expect(overconfident.errors.share(within: bound) >= 0.95, "\(overconfident.errors.share(within: bound))")
    #expect(overconfident.onShare > honest.onShare && overconfident.onShare < 0.8)
  }

  @Test func `without dead reckoning, a moving board keeps its receiver on`() {
    let journeys = SimulatedJourney.fifty(.city, hasReckoning: false)
    #expect(journeys.errors.share(within: 25) >= 0.95 && journeys.onShare > 0.5)
  }

  /// The recorded drive is replayed through the hub's fusion, decision and schedule.
  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `a recorded drive keeps within the bound`() throws {
    let folder = try #require(SharedData.folder)
    let drive = try #require(RecordedDrive(folder: folder + "/drive"))
    let replays = try #require(DriveReplay.outcome(of: drive, bound: 25, isVehicle: true, .bounded, replays: 3))
    #expect(replays.errors.share(within: 25) >= 0.95 && replays.onShare < 0.6)
  }
}
