import Glibc
import MonotonicTime
import NMEA
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The fixes of a fence around an anchor.
extension FixPlannerTests {
  /// A fence of 40 m around an anchor, and its reports.
  private static func anchorWatch(_ bench: Bench) throws -> (FenceMonitor, Recorder<FenceStatus>) {
    let anchor = Coordinate(latitudeDegrees: 52 + 31.0 / 60, longitudeDegrees: 13 + 22.0 / 60)
    let said = Recorder<FenceStatus>()
    let fenceMonitor = FenceMonitor(
      FenceSettings(name: "anchor", area: try FenceArea(circleAbout: anchor, radiusMetres: 40)), clock: bench.clock,
      report: { said.append($0) })
    fenceMonitor.begin(on: bench.hub)
    bench.settle()
    return (fenceMonitor, said)
  }

  @Test func `an anchor watch takes a tenth of the energy of staying on, and notices a drag within its grace`()
    async throws
  {
    let bench = try Bench()
    // The receiver starts as quickly as present receivers with a hot start.
    (bench.seconds, bench.bestDilution) = (1, 0.3)
    func swing(_ at: MonotonicInstant) -> SIMD2<Double> {
      let angle = at.seconds(since: MonotonicInstant(nanoseconds: 0)) / 300
      return SIMD2(15 * cos(angle), 15 * sin(angle))
    }
    bench.metres = swing
    let (fenceMonitor, said) = try Self.anchorWatch(bench)
    bench.pass(600)
    #expect(said.values.map(\.event) == [.found] && fenceMonitor.status.state == .inside)
    let status = bench.status
    let schedule = try #require(status.schedules.first)
    #expect(schedule.holder == "fence anchor" && (30...60).contains(schedule.schedule.every.inSeconds), "\(schedule)")
    let (began, onTime) = (bench.clock.now, status.onTime)
    bench.pass(3600)
    let share = (bench.status.onTime - onTime).inSeconds / bench.clock.now.seconds(since: began)
    #expect(share < 0.1, "\(share)")
    #expect(said.values.count == 1)
    #expect((bench.status.energyByClient.first { $0.payer == "fence anchor" }?.milliwattHours ?? 0) > 0)
    // A reload does not end the watch.
    try await bench.reload()
    let dragsAt = bench.clock.now
    bench.metres = { at in swing(dragsAt) * (15 + 0.5 * at.seconds(since: dragsAt)) / 15 }
    bench.pass(50)
    #expect(said.values.count == 1)
    bench.pass(20)
    let left = try #require(said.values.last)
    #expect(left.event == .leave && left.state == .outside && (left.metresBeyond ?? 0) > 0, "\(said.values)")
    fenceMonitor.end()
    bench.settle()
    #expect(!bench.isHigh && bench.status.schedules.isEmpty)
    await bench.end()
  }

  @Test func `an anchor watch reports that it has no fixes, and when it has fixes again`() async throws {
    let bench = try Bench()
    let (fenceMonitor, said) = try Self.anchorWatch(bench)
    bench.pass(200)
    #expect(said.values.map(\.event) == [.found])
    // From here on the receiver finds no fix, as under a roof.
    bench.seconds = 10_000
    bench.pass(180)
    #expect(said.values.map(\.event) == [.found, .lost] && fenceMonitor.status.state == .unknown)
    let onTime = bench.status.onTime
    bench.pass(3600)
    #expect(said.values.count == 2)
    // The receiver keeps trying, but not all the time.
    let share = (bench.status.onTime - onTime).inSeconds / 3600
    #expect(share > 0.05 && share < 0.3, "\(share)")
    bench.seconds = 4
    bench.pass(700)
    #expect(said.values.map(\.event) == [.found, .lost, .found] && fenceMonitor.status.state == .inside)
    fenceMonitor.end()
    bench.settle()
    await bench.end()
  }
}
