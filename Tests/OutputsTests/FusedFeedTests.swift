import Fusion
import Hub
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The states with which sentences of the fused state are due.
struct FusedFeedTests {
  private let host: HubHost

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    host = HubHost(Hub(board: board, hardware: SimulatedHardware()), version: "test")
  }

  /// Returns which of the states at these milliseconds are sent, at a rate of twenty a second.
  private func sent(_ milliseconds: [Int64]) -> [Int64] {
    let feed = FusedFeed(host: host, feed: Board.NMEAFeed(source: .fused, rateHz: 20))
    return milliseconds.filter { millisecond in
      var isSent = false
      let state = FusedState(at: MonotonicInstant(nanoseconds: 1_000_000_000 + millisecond * 1_000_000))
      feed.withBytes(of: state) { _, _ in isSent = true }
      return isSent
    }
  }

  @Test func `states that come at their own rate are sent at the requested rate`() {
    #expect(sent([0, 40, 80, 120, 160, 200, 240, 280]) == [0, 80, 120, 160, 200, 280])
    // The sentence after a pause is not delayed further.
    #expect(sent([0, 300, 340, 380, 420]) == [0, 300, 380, 420])
  }

  @Test func `after a late state, one of nearly the same time is left out`() {
    #expect(sent([0, 40, 95, 100, 140, 180]) == [0, 95, 140, 180])
  }

  @Test func `if an epoch is late, no time is sent twice, and none is earlier than the one before`() throws {
    let feed = FusedFeed(host: host, feed: Board.NMEAFeed(source: .fused, rateHz: 20))
    let moments = (0...40).map { MonotonicInstant(nanoseconds: 1_000_000_000 + Int64($0) * 50_000_000) }
    var lines: [Substring] = []
    for (index, at) in moments.enumerated() {
      // There is one epoch a second. The second one is read 170 ms late and gets the time of the reading.
      let (second, late) = index < 24 ? (0, 0) : (1, 170)
      let time = 1_795_341_600_000_000_000 + Int64(second) * 1_000_000_000
      var state = FusedState(at: at)
      state.mode = .fused
      state.fix = Dated(
        FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 9, hdop: 0.8, utcNanoseconds: time),
        at: MonotonicInstant(nanoseconds: 1_000_000_000 + Int64(second * 1000 + late) * 1_000_000), source: .gps)
      state.position = Dated(
        FusedState.Position(
          latitudeDegrees: 52.5, longitudeDegrees: 13.4, altitudeHAEMetres: 80, altitudeMSLMetres: 40,
          horizontalSigmaMetres: 2, verticalSigmaMetres: 3), at: at, source: [.gps, .imu])
      state.attitude = Dated(
        FusedState.Attitude(
          quaternion: Quaternion(roll: 0.1, pitch: -0.05, yaw: -1.5), inclinationSigmaRadians: 0.01,
          headingSigmaRadians: 0.02), at: at, source: [.gps, .imu])
      feed.withBytes(of: state) { bytes, _ in lines += String(decoding: bytes, as: UTF8.self).split(separator: "\r\n") }
    }
    for kind in ["GPRMC", "PASHR"] {
      let times = lines.filter { $0.hasPrefix("$\(kind),") }.map { $0.split(separator: ",")[1] }
      #expect(times.count > 30 && zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
    }
  }
}
