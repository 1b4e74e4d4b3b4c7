import Fusion
import Hub
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// With which states the sentences of the fused state are due.
struct FusedFeedTests {
  private let host: HubHost

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    host = HubHost(Hub(board: board, hardware: SimulatedHardware()), version: "test")
  }

  /// Which of the states that come at these milliseconds are sent, where twenty a second are wanted.
  private func sent(_ milliseconds: [Int64]) -> [Int64] {
    let feed = FusedFeed(host: host, feed: Board.NMEAFeed(source: .fused, rateHz: 20))
    return milliseconds.filter { millisecond in
      var isSent = false
      let state = FusedState(at: MonotonicInstant(nanoseconds: 1_000_000_000 + millisecond * 1_000_000))
      feed.withBytes(of: state) { _, _ in isSent = true }
      return isSent
    }
  }

  @Test func `states that come at a pace of their own are sent as often as is wanted`() {
    #expect(sent([0, 40, 80, 120, 160, 200, 240, 280]) == [0, 80, 120, 160, 200, 280])
    // Nobody waits longer for the one behind a pause.
    #expect(sent([0, 300, 340, 380, 420]) == [0, 300, 380, 420])
  }

  @Test func `behind one that was late there is none of nearly the same time`() {
    #expect(sent([0, 40, 95, 100, 140, 180]) == [0, 95, 140, 180])
  }
}
