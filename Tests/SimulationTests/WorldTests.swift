import MonotonicTime
import Simulation
import Testing

/// The vehicle while it is parked, and while it drifts.
struct WorldTests {
  private static let start = MonotonicInstant(nanoseconds: 0)

  private static func truth(_ world: World, _ seconds: Double) -> World.Truth {
    world.truth(at: start + .seconds(seconds))
  }

  @Test func `a vehicle parks in each given period, and drives in between as if there were no pauses`() {
    let driving = World(start: Self.start)
    var world = driving
    world.parked = [10..<110, 120..<220]
    for (seconds, driven) in [(5.0, 5.0), (10, 10), (60, 10), (109.9, 10), (115, 15), (170, 20), (225, 25)] {
      let (here, there) = (Self.truth(world, seconds), Self.truth(driving, driven))
      #expect(here.positionMetres == there.positionMetres, "\(seconds)")
      #expect((here.velocityMetresPerSecond == .zero) == [10, 60, 109.9, 170].contains(seconds), "\(seconds)")
    }
  }

  @Test func `a drift is added to the motion of the vehicle`() {
    let anchored = World(start: Self.start)
    var world = anchored
    world.drift = World.Drift(since: 100, metresPerSecond: SIMD2(0.5, -0.25))
    #expect(Self.truth(world, 100).positionMetres == Self.truth(anchored, 100).positionMetres)
    let (here, there) = (Self.truth(world, 140), Self.truth(anchored, 140))
    #expect(here.positionMetres == there.positionMetres + SIMD3(20, -10, 0))
    #expect(here.velocityMetresPerSecond == there.velocityMetresPerSecond + SIMD3(0.5, -0.25, 0))
    #expect(here.latitudeDegrees > there.latitudeDegrees && here.longitudeDegrees < there.longitudeDegrees)
  }
}
