import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// A night at anchor, observed on the receiver's power line.
  @Suite(
    .serialized, .enabled(if: Bench.isVirtual, "only the virtual bench plays receivers"), .timeLimit(.minutes(600)))
  struct AnchorWatchTests {
    private static let night = 8 * 3600.0
    private static let radius = 40.0
    private static let grace = Duration.seconds(20)

    /// A boat that swings around its anchor until the anchor drags.
    private static func boat() -> World {
      var world = World(start: MonotonicClock().now)
      (world.sizeMetres, world.drivingSeconds, world.standingSeconds) = (15, 900, 0)
      world.drift = World.Drift(since: night, metresPerSecond: SIMD2(0.4, 0.3))
      return world
    }

    /// The time at which the boat crosses the edge of the fence.
    private static func leaves(_ world: World) -> MonotonicInstant? {
      (0..<6000).lazy.map { world.start + .seconds(night + Double($0) / 10) }.first { instant in
        let place = world.truth(at: instant).positionMetres
        return (place * place).sum().squareRoot() > radius
      }
    }

    @Test func `eight hours at anchor cause no event, and a drag is noticed within the grace`() throws {
      let world = Self.boat()
      let leaves = try #require(Self.leaves(world))
      let bench = try CommandedBench(.ublox8, world: world)
      let circle = "[\(world.latitudeDegrees), \(world.longitudeDegrees), \(Self.radius)]"
      // UBX messages contain the receiver's own accuracy estimate.
      let hub = bench.hub(
        "ublox", settings: "messages: \"ubx\",",
        sections: "fences: { anchor: { circle: \(circle), grace: \(Self.grace.inSeconds) } }")
      let events = { hub.program.standardError.split(separator: "\n").filter { $0.contains("fence anchor: ") } }
      #expect(eventually { events().count == 1 })
      bench.wait(until: world.start + .seconds(Self.night))
      #expect(events().count == 1 && events()[0].contains("the board is inside"), "\(events())")
      let (rises, falls) = (bench.line.rises, bench.line.falls)
      bench.wait(until: leaves)
      #expect(events().count == 1, "\(events())")
      #expect(eventually { events().count == 2 })
      let noticed = MonotonicClock().now
      #expect(events().last?.contains("fence anchor: left") == true, "\(events())")
      #expect(noticed - leaves <= Self.grace, "\(noticed - leaves) \(events())")
      // The receiver is awake only for seconds at a time, but has received its ephemerides anyway.
      let starts = bench.receiver.starts
      #expect(starts.dropFirst().allSatisfy { $0.kind == .hot }, "\(starts.filter { $0.kind != .hot })")
      // The anchor watch is compared with a receiver that stays on all night.
      let highTime = zip(rises, falls).map { $1 - $0 }.reduce(.zero, +)
      #expect(highTime * 10 < .seconds(Self.night), "\(highTime)")
      let perMille = Int((1000 * highTime.inSeconds / Self.night).rounded())
      Bench.saw(
        "8 h: 0 events, \(rises.count) rises, high for \(perMille / 10).\(perMille % 10) % of the time; "
          + "a drift of 0.5 m/s noticed \(Bench.milliseconds(noticed - leaves)) after the edge, grace 20 s")
      #expect(hub.stop() == 0)
      #expect(eventually { !bench.line.isHigh })
    }
  }
}
