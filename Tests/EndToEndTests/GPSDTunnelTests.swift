import FoundationEssentials
import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The reports of the gpsd protocol and the fused sentences in a tunnel.
@Suite(.timeLimit(.minutes(10))) struct GPSDTunnelTests {
  struct Report: Decodable {
    var `class`: String
    var device, path, time, activated: String?
    var mode, active, status: Int?
    var lat, lon, alt, cycle: Double?
  }

  private static func reports(_ text: String, _ name: String) -> [Report] {
    text.split(separator: "\r\n").compactMap { try? JSONDecoder().decode(Report.self, from: Data($0.utf8)) }.filter {
      $0.class == name
    }
  }

  @Test func `in a tunnel every report has a position, and their times increase`() async throws {
    // If a busy machine's thread delivers an epoch late, the delay is shorter by this slower clock.
    let clock = SlowClock(timesSlower: 2)
    var receiver = SimulatedReceiver.Configuration()
    receiver.satelliteTime = clock.systemTime
    // The world is fifteen seconds old when the hub begins.
    receiver.tunnel = SimulatedReceiver.Tunnel(period: .seconds(1000), entrance: .seconds(27), length: .seconds(6))
    let board = try Board(
      json5: Array(HubProcess.simulatedBoard("state: { rateHz: 10 }").utf8), file: "test")
    let hardware = SimulatedHardware(clock: clock, receiver: receiver)
    let hub = Hub(board: board, on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let moments = GPSDMoments(host: HubHost(hub, version: "test"), includesAttitude: true)
    let seen = Recorder<(state: FusedState, lines: String, sentences: String)>()
    let subscription = hub.state.subscribe(
      as: "test",
      receiveValue: { state in
        moments.withBytes(of: state) { bytes, _ in
          seen.append((state, String(decoding: bytes, as: UTF8.self), FusedSentences.make(of: state)))
        }
      })
    let all = await seen.values { seen in
      guard let last = seen.lastIndex(where: { $0.state.mode == .deadReckoning }) else { return false }
      return seen[last...].contains { $0.state.mode == .fused && $0.state.fix?.value.mode == 3 }
    }
    subscription.cancel()
    await hub.isOff()
    let first = try #require(all.firstIndex { $0.state.mode == .fused })
    let positions = all[first...].flatMap { GPSDTunnelTests.reports($0.lines, "TPV") }
    #expect(positions.count > 20)
    #expect(positions.allSatisfy { $0.mode == 3 && $0.lat != nil })
    #expect(zip(positions, positions.dropFirst()).allSatisfy { ($0.time ?? "") < ($1.time ?? "") })
    #expect(all[first...].allSatisfy { !$0.sentences.contains(",V,") })
    // The receiver is in the tunnel from its first epoch on, long before the hub calls it dead reckoning.
    let blind = all[first...].filter { $0.state.fix?.value.mode == 1 }
    #expect(blind.contains { $0.state.mode == .fused })
    #expect(blind.flatMap { GPSDTunnelTests.reports($0.lines, "TPV") }.allSatisfy { $0.status == 5 })
    #expect(blind.allSatisfy { $0.sentences.contains(",E,6,") })
  }
}
