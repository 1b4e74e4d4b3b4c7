import Devices
import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Fusion
@testable import Outputs

/// A magnetometer's offset that is refined while the board is used.
struct BackgroundCalibrationTests {
  /// Replaces the folder of calibrations.
  private final class Notebook: CalibrationStore {
    let results = Recorder<MagneticOffsetRefiner.Result>()
    let stored = Guarded(SIMD3<Double>(10, -20, 5))
    /// The number of results to refuse.
    let refusals = Guarded(0)

    func store(_ session: CalibrationSession, of chip: DeviceDescription) throws(CalibrationRefusal)
      -> StoredCalibration
    {
      throw CalibrationRefusal("none", nextStep: "none")
    }

    func store(_ refined: MagneticOffsetRefiner.Result, of chip: DeviceDescription) throws(CalibrationRefusal)
      -> StoredCalibration
    {
      defer { results.append(refined) }
      let isFull = refusals.withLock { count in
        defer { count = max(0, count - 1) }
        return count > 0
      }
      if isFull { throw CalibrationRefusal("the disk is full", nextStep: "none") }
      // Like the folder, it stores only a refinement of the stored offset.
      let isStored = stored.withLock { stored in
        guard stored == refined.replaced.magnetometerOffset else { return false }
        stored = refined.offset
        return true
      }
      if !isStored { throw CalibrationRefusal("another calibration was stored", nextStep: "none") }
      return StoredCalibration(file: "notebook", quality: refined.quality)
    }
  }

  private let feed = ReplayFeed()
  private let clock = ManualClock(now: MonotonicInstant(nanoseconds: 20_000_000_000))
  private let notebook = Notebook()
  private let log = Recorder<String>()
  private let logging: Subscription
  private let host: HubHost
  private let refinement: BackgroundCalibration

  init() throws {
    let text = "{ name: 'test', devices: { mag: { driver: 'lis3mdl', bus: 'nowhere' } } }"
    var board = try Board(json5: Array(text.utf8), file: "test")
    var calibration = ChipCalibration()
    calibration.values.magnetometerOffset = SIMD3(10, -20, 5)
    calibration.values.magnetometerStrength = 48
    board.devices = board.devices.map { $0.calibrated(calibration) }
    host = HubHost(
      Hub(board: board, on: Machine(replaying: feed, clock: clock, systemTime: { 1_800_000_000_000_000_000 })),
      version: "test", calibrations: notebook)
    let sink = JournalSink()
    logging = sink.observe { [log] in log.append($0.message) }
    refinement = BackgroundCalibration(host: host, sink: sink)
    refinement.begin()
  }

  /// Turns the board around, with an error in its stored offset.
  private func turn(_ degrees: Range<Int>, error: SIMD3<Double>) {
    for degree in degrees {
      clock.advance(by: .seconds(4))
      let heading = Double(degree) * .pi / 180
      let field = SIMD3(19 * cos(heading), -19 * sin(heading), 44) + SIMD3(10, -20, 5) + error
      feed.magnetometer("mag").send(MagnetometerSample(at: clock.now, field: SIMD3<Float>(field)))
    }
  }

  @Test func `the magnetometer's offset is refined and stored again and again while clients use it`() async throws {
    defer { refinement.end() }
    let watch = host.hub.state(parts: .all).subscribe(as: "watch", receiveValue: { _ in })
    defer { watch.cancel() }
    turn(0..<2160, error: SIMD3(8, -4, 0))
    let first = try #require(await notebook.results.first(1).first)
    #expect(first.quality < 0.5 * first.qualityBefore)
    #expect((first.offset - SIMD3(18, -24, 5)).length < 3)
    // A magnet is mounted later. The refined offset is refined again.
    turn(0..<2880, error: SIMD3(0, 6, 0))
    let second = try #require(await notebook.results.first(2).last)
    #expect(second.replaced.magnetometerOffset == first.offset)
    #expect((second.offset - SIMD3(10, -14, 5)).length < (first.offset - SIMD3(10, -14, 5)).length)
  }

  @Test func `a result that could not be stored does not keep the next one from being stored`() async {
    defer { refinement.end() }
    notebook.refusals.withLock { $0 = 1 }
    let watch = host.hub.state(parts: .all).subscribe(as: "watch", receiveValue: { _ in })
    defer { watch.cancel() }
    turn(0..<2160, error: SIMD3(8, -4, 0))
    // After the report of the refusal, the refinement has begun again with the stored offset.
    #expect(log.waits { $0.contains { $0.contains("a refined offset is not stored") } })
    turn(0..<2160, error: SIMD3(8, -4, 0))
    #expect(notebook.results.waits { _ in notebook.stored.withLock { $0 } != SIMD3(10, -20, 5) })
    // The first of the results was refused.
    #expect(notebook.refusals.withLock { $0 } == 0 && notebook.results.values.count > 1)
  }

  @Test func `the background calibration keeps no device awake`() {
    defer { refinement.end() }
    let holders = host.hub.devices.flatMap(\.holders)
    #expect(holders.isEmpty, "\(holders)")
  }
}
