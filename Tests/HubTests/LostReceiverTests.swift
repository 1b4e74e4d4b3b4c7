import Fusion
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The state of the only receiver after its cable has been pulled: on a pseudo-terminal, with a clock that the test
/// moves.
@Suite(.timeLimit(.minutes(10)))
struct LostReceiverTests {
  private let terminal = PseudoTerminal()
  private let clock = ManualClock()
  private let hub: Hub
  private let states = Recorder<FusedState>()

  init() throws {
    let power = "power: { switch: 'none', lingerSeconds: 0 }"
    let gps = "gps: { driver: 'nmea', port: '\(terminal.path)', speed: 9600, \(power) }"
    let board = "{ name: 'test', devices: { \(gps) } }"
    hub = Hub(board: try Board(json5: Array(board.utf8), file: "test"), hardware: LinuxHardware(), clock: clock)
  }

  /// Subscribes to the state, waits for a position, and then pulls the cable.
  private func loseReceiver() -> Subscription {
    let watch = hub.state(rateHz: nil).subscribe(as: "watch", receiveValue: { [states] in states.append($0) })
    #expect(hub.waits { hub.devices[0].power == .acquiring })
    for second in 10...11 {
      terminal.write(nmeaLine("GPRMC,1200\(second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A"))
    }
    #expect(states.waits { $0.last?.mode == .gnss })
    #expect(hub.waits { hub.devices[0].counters.contains { $0.name == "epochs" && $0.value == 2 } })
    terminal.hangUp()
    #expect(hub.waits { hub.devices[0].power == .failed })
    return watch
  }

  @Test func `when the position of a lost receiver is too old, a client gets one more state, without it`() async {
    let watch = loseReceiver()
    clock.run(until: clock.now + .seconds(4))
    #expect(states.values.allSatisfy { $0.mode == .gnss && $0.position != nil })
    clock.run(until: clock.now + .seconds(2))
    #expect(states.waits { $0.last?.mode == FusedState.Mode.none })
    let last = states.values.last
    #expect(last?.position == nil && last?.fix == nil && last.map { clock.now - $0.at <= .seconds(2) } == true)
    #expect(abs((hub.lastKnownPosition?.latitudeDegrees ?? 0) - 52.516667) < 1e-5)
    let count = states.values.count
    clock.run(until: clock.now + .seconds(60))
    #expect(states.values.count == count)
    watch.cancel()
    hub.shutDown()
    await hub.isOff()
    #expect(clock.waitingCount == 0)
  }

  @Test func `the state after the position of a lost receiver is too old follows from a recorded input`() async {
    let recorder = InputRecorder()
    let recording = hub.record(to: recorder, as: "test", wakes: false)
    let all = Recorder<FusedState>()
    let observation = hub.observedStates.subscribe(as: "test", receiveValue: { all.append($0) })
    let watch = loseReceiver()
    clock.run(until: clock.now + .seconds(6))
    #expect(states.waits { $0.last?.mode == FusedState.Mode.none })
    watch.cancel()
    #expect(all.waits { $0.last?.mode == .asleep })
    recording.end()
    observation.cancel()
    let inputs = recorder.inputs.values
    let names = inputs.map(\.input.name)
    #expect(names.first == "begin" && Array(names.suffix(2)) == ["expiry", "end"], "\(names)")
    // The recorded inputs alone make the same states.
    var fuser = Fuser(hub.board)
    let replayed = inputs.compactMap { fuser.apply($0.input, at: $0.at) }
    #expect(replayed.map(\.at) == all.values.map(\.at))
    #expect(replayed.map(\.mode) == all.values.map(\.mode))
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `after the run, the last known position is that of the lost receiver, with its age`() async throws {
    let watch = loseReceiver()
    clock.run(until: clock.now + .seconds(60))
    #expect(states.waits { $0.last?.mode == FusedState.Mode.none })
    watch.cancel()
    #expect(hub.lastState.waits { $0?.mode == .asleep })
    let position = try #require(states.values.last { $0.mode == .gnss }?.position)
    let known = hub.knownState(at: clock.now)
    let left = try #require(known.position)
    #expect(left.value == position.value && left.at == position.at)
    // Inputs that were read at the same instant are a microsecond apart.
    #expect(known.age(of: left).map { $0 > .seconds(59) && $0 <= .seconds(60) } == true)
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `no timer is left if the last client leaves before the position of a lost receiver is too old`() async {
    loseReceiver().cancel()
    let count = states.values.count
    hub.shutDown()
    await hub.isOff()
    #expect(clock.waitingCount == 0)
    clock.run(until: clock.now + .seconds(60))
    #expect(states.values.count == count)
  }
}
