import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Scheduled fixes of a parked board, observed on the power lines of the receiver and the sensor.
  @Suite(
    .serialized, .enabled(if: Bench.isVirtual, "only the virtual bench plays receivers"), .timeLimit(.minutes(600)))
  struct StandingStillTests {
    /// The time in which the hub detects that the board does not move.
    private static let settling = 300.0
    private static let hour = 3600.0
    private static let motions = 20
    private static let driving = 20.0

    /// Stops of an hour, and then stops that are just long enough to be detected. Each ends at another second of the
    /// schedule's minute.
    private static let stops: [Range<Double>] = {
      var stops = [0..<settling + hour]
      for number in 1..<motions {
        let begin = (stops.last?.upperBound ?? 0) + driving
        stops.append(begin..<begin + 300 + 7.3 * Double(number))
      }
      return stops
    }()

    @Test func `an hour of standing never switches the receiver on, and each motion does within 100 ms`() throws {
      var world = World(start: MonotonicClock().now)
      world.parked = Self.stops
      let bench = try CommandedBench(.ublox8, world: world, hasIMU: true)
      let interrupt = try #require(bench.interrupt)
      let hub = bench.hub("nmea")
      let client = SocketClient(path: hub.socket)
      client.send("{\"every\": 60, \"accuracy\": 20}\n")
      bench.wait(until: world.start + .seconds(Self.settling))
      #expect(!bench.line.isHigh && bench.line.rises.count >= 1 && interrupt.rises.isEmpty)
      let risesBefore = bench.line.rises.count
      client.forget()
      bench.wait(until: world.start + .seconds(Self.settling + Self.hour - 1))
      #expect(bench.line.rises.count == risesBefore && interrupt.rises.isEmpty, "\(bench.line.all)")
      let given = client.text.split(separator: "\n")
      #expect(given.count >= 59 && given.allSatisfy { $0.contains(#""still":true"#) }, "\(given.count) fixes")
      client.forget()
      var delays: [Duration] = []
      for stop in Self.stops {
        let setsOff = world.start + .seconds(stop.upperBound)
        bench.wait(until: setsOff.advanced(by: .seconds(-1)))
        #expect(!bench.line.isHigh, "on while the board stands: \(stop) \(bench.line.all.suffix(2))")
        #expect(eventually { interrupt.rises.last.map { $0 >= setsOff } ?? false })
        #expect(eventually { bench.line.rises.last.map { $0 >= setsOff } ?? false })
        if let edge = interrupt.rises.first(where: { $0 >= setsOff }),
          let rise = bench.line.rises.first(where: { $0 >= setsOff })
        {
          delays.append(rise - edge)
        }
      }
      #expect(eventually { client.text.contains(#""schedule":{"met":true"#) })
      client.leave()
      #expect(eventually { hub.isOff && !bench.line.isHigh })
      try #require(delays.count == Self.motions)
      delays.sort()
      // One late round is allowed, because the machine may have interrupted it.
      #expect(delays[Self.motions - 2] < .milliseconds(100), "\(delays)")
      Bench.saw(
        "an hour, \(given.count) fixes given again: 0 rises; \(Self.motions) motions: rise "
          + "\(Bench.milliseconds(delays[Self.motions / 2])) after the sensor's edge (median, latest "
          + "\(Bench.milliseconds(delays[Self.motions - 1])))")
      #expect(hub.stop() == 0)
    }
  }
}
