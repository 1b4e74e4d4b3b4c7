import Fusion
import Hub
import Publishing
import Simulation
import TestSupport
import Testing

/// A client that names parts of the state wakes the devices that measure these, and no others.
@Suite(.timeLimit(.minutes(10)))
struct StatePartTests {
  private let hardware: SimulatedHardware
  private let hub: Hub

  init() throws {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .milliseconds(50)
    receiver.rateHz = 20
    hardware = SimulatedHardware(receiver: receiver)
    hub = Hub(board: try HubTests.board(), hardware: hardware)
  }

  private var wakes: [Int] { hub.devices.map(\.wakes) }

  private func subscribe(_ parts: Set<StatePart>, as name: String) -> (states: Recorder<FusedState>, Subscription) {
    let states = Recorder<FusedState>()
    return (
      states, hub.state(rateHz: 100, parts: parts).subscribe(as: .client(name), receiveValue: { states.append($0) })
    )
  }

  @Test func `a request for the attitude leaves the receiver off`() async {
    let (states, subscription) = subscribe([.attitude], as: "level")
    _ = await states.values { $0.count > 20 && $0.last?.attitude != nil }
    #expect(wakes == [0, 1] && !hardware.powerLines.level(SimulatedHardware.gpsPowerLine))
    #expect(hub.devices.map(\.holders) == [[], ["level (attitude)"]])
    #expect(states.values.allSatisfy { $0.position == nil && $0.fix == nil })
    subscription.cancel()
    await hub.isOff()
    #expect(wakes == [0, 1])
  }

  @Test func `a request for the position leaves the IMU off`() async {
    let (states, subscription) = subscribe([.position], as: "map")
    _ = await states.values { $0.count > 5 && $0.last?.position != nil }
    #expect(wakes == [1, 0] && !hardware.powerLines.level(SimulatedHardware.imuPowerLine))
    #expect(states.values.allSatisfy { $0.attitude == nil })
    subscription.cancel()
    await hub.isOff()
    #expect(wakes == [1, 0])
  }

  @Test func `a device that is awake for one client delivers its values to all, and wakes only once`() async {
    let (levels, level) = subscribe([.attitude, .rates], as: "level")
    _ = await levels.first { $0.attitude != nil }
    let (maps, map) = subscribe([.position], as: "map")
    _ = await levels.first { $0.position != nil }
    _ = await maps.first { $0.attitude != nil }
    #expect(wakes == [1, 1])
    #expect(hub.devices.map(\.holders) == [["map (position)"], ["level (attitude, rates)"]])
    level.cancel()
    await hub.imu?.isOff()
    let count = maps.values.count
    _ = await maps.values { $0.count > count + 5 }
    #expect(hardware.powerLines.level(SimulatedHardware.gpsPowerLine))
    map.cancel()
    await hub.isOff()
    #expect(wakes == [1, 1])
  }

  @Test func `a client that names no parts gets all parts`() throws {
    #expect(Set<StatePart>.all.kinds(on: try HubTests.board()) == [.receiver, .imu])
    #expect(Set(names: ["attitude", "rates"]) == [.attitude, .rates])
    #expect(Set(names: ["attitude", "longitude"]) == nil)
    #expect(Set(names: [String]()) == nil)
  }
}
