import Fusion
import Glibc
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

/// A drive through a tunnel, in slow motion. If a busy machine reads an epoch late, the position is wrong by the
/// distance driven in the meantime. This test therefore takes twice as long as the tunnel.
@Suite(.timeLimit(.minutes(10)))
struct TunnelTests {
  @Test func `during thirty seconds without satellites, the position error stays below three sigmas`() async throws {
    let clock = SlowClock(timesSlower: 2)
    var receiver = SimulatedReceiver.Configuration()
    receiver.satelliteTime = clock.systemTime
    // The simulated world is fifteen seconds old when the hub starts.
    receiver.tunnel = SimulatedReceiver.Tunnel(period: .seconds(1000), entrance: .seconds(27), length: .seconds(30))
    let hardware = SimulatedHardware(clock: clock, receiver: receiver)
    let hub = Hub(
      board: try HubTests.board(), on: Machine(hardware: hardware, clock: clock, systemTime: clock.systemTime))
    let states = Recorder<FusedState>()
    let subscription = hub.state(rateHz: 20).subscribe(as: "test", receiveValue: { states.append($0) })
    let seen = await states.values { states in
      guard let last = states.lastIndex(where: { $0.mode == .deadReckoning }) else { return false }
      return states[last...].contains { $0.mode == .fused }
    }
    subscription.cancel()
    await hub.isOff()

    #expect(seen.last { $0.mode == .deadReckoning || $0.mode == .fused }?.mode == .fused)
    let inside = seen.filter { $0.mode == .deadReckoning }
    let longest = inside.compactMap { state in state.deadReckoningSince.map { (state.at - $0).inSeconds } }.max() ?? 0
    #expect(longest > 28)
    var within = 0
    var worst = 0.0
    let judged = seen.filter { $0.mode == .fused || $0.mode == .deadReckoning }
    for state in judged {
      let position = try #require(state.position)
      let sigma = try #require(position.value.horizontalSigmaMetres)
      let truth = hardware.world.truth(at: position.at)
      let north = (position.value.latitudeDegrees - truth.latitudeDegrees) * 111_195
      let east =
        (position.value.longitudeDegrees - truth.longitudeDegrees) * 111_195 * cos(truth.latitudeDegrees * .pi / 180)
      let error = (north * north + east * east).squareRoot()
      // The sigma is that of one axis.
      if error < 3 * sigma * 2.0.squareRoot() { within += 1 }
      worst = max(worst, error)
    }
    let share = Double(within) / Double(judged.count)
    #expect(share >= 0.99, "\(within) of \(judged.count) states, the worst \(worst) m off")
  }
}
