import Devices
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// When a calibration with a board's own measurements ends.
struct CalibrationActionTests {
  private let feed = ReplayFeed()
  private let sessions = Recorder<CalibrationSession>()
  private let ends = Recorder<String>()
  private let hub: Hub

  init() throws {
    let text = "{ name: 'test', devices: { imu: { driver: 'lsm6dsox', bus: 'simulated/i2c', address: 0x6A } } }"
    hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "test"),
      on: Machine(replaying: feed, clock: ManualClock(), systemTime: { 1_800_000_000_000_000_000 }))
  }

  private func begin() -> Subscription {
    hub.calibration(of: "imu").apply(.gyro).subscribe(
      as: "test", receiveValue: { [sessions] in sessions.append($0) },
      receiveCompletion: { [ends] in ends.append("\($0)") })
  }

  /// Sends the sensor's samples for each of these seconds, until the calibration has ended.
  private func pass(_ seconds: Range<Int>, isMoving: (Int) -> Bool) {
    for second in seconds where ends.values.isEmpty {
      for half in 0..<2 {
        var batch = IMUBatch()
        for index in 0..<50 {
          let at = MonotonicInstant(nanoseconds: (Int64(second * 100 + half * 50 + index) + 1) * 10_000_000)
          batch.append(
            IMUSample(
              at: at, gyroscope: isMoving(second) ? SIMD3(1, 0, 0) : SIMD3(0.01, 0.02, 0),
              accelerometer: SIMD3(0, 0, 9.8)))
        }
        feed.imu("imu").send(batch)
      }
    }
  }

  @Test func `the hub reports a gyroscope that keeps moving, and ends its calibration after a minute`() throws {
    let lease = begin()
    // The sensor lies still for five seconds and is moved in the sixth.
    pass(0..<9) { $0 % 6 == 5 }
    #expect(sessions.values.last?.instruction == "leave the sensor still")
    pass(9..<57) { $0 % 6 == 5 }
    let told = Set(sessions.values.map(\.instruction))
    #expect(
      told.count == 2
        && told.contains { $0.hasPrefix("the sensor moves: put it down") && $0.hasSuffix("for this for 60 s") })
    #expect(ends.values.isEmpty && sessions.values.allSatisfy { $0.problem == nil && $0.progress < 1 })
    pass(57..<90) { $0 % 6 == 5 }
    #expect(ends.values.count == 1)
    let last = try #require(sessions.values.last)
    #expect(last.problem == "in 60 s the sensor was never still for ten seconds")
    var chip = ChipCalibration()
    #expect(!last.store(in: &chip, at: 0))
    lease.cancel()
  }

  @Test func `a gyroscope that comes to rest in the end is calibrated`() throws {
    let lease = begin()
    pass(0..<90) { $0 < 55 }
    #expect(ends.values.count == 1)
    let last = try #require(sessions.values.last)
    #expect(last.progress == 1 && last.problem == nil)
    lease.cancel()
  }
}
