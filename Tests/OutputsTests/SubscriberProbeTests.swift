import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The detection of subscribers without a request, as far as the broker is reliable.
struct SubscriberProbeTests {
  private let clock = ManualClock()
  private let sent = Recorder<String>()
  private let states = Recorder<Int>()
  private let said = Recorder<String>()
  private let viewers = Recorder<[String]>()
  private let topics = HubTopics(topic: "sensorhub", hub: "boat")
  private let hub: Hub
  private let leases: ViewerLeases
  private let watching: Subscription
  private let probe: SubscriberProbe

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    leases = ViewerLeases(
      host: HubHost(hub, version: "test"), clock: clock, send: { _, _ in }, sendFix: { _, _ in },
      expired: { _ in })
    probe = SubscriberProbe(
      topics: topics, interests: leases, clock: clock, sentCount: { [states] in states.values.count },
      send: { [sent] in sent.append($0) },
      say: { [said] in said.append($0) })
    watching = leases.audience.subscribe(
      as: "test", receiveValue: { [viewers] in viewers.append($0.viewers) })
    leases.connected()
    probe.connected()
  }

  private var canary: String { sent.values.last { $0.hasPrefix("sensorhub/boat/nobody-") } ?? "" }
  private var probes: Int { sent.values.count { $0 == topics.states } }

  private func end() async {
    probe.disconnected()
    leases.end()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a broker that reports a subscriber for every topic gets no further probes`() async {
    probe.answered(canary, hasSubscribers: true)
    clock.advance(by: .seconds(600))
    #expect(probes == 0 && said.values.count == 1)
    // The next connection may give another result.
    probe.disconnected()
    probe.connected()
    probe.answered(canary, hasSubscribers: false)
    #expect(probes == 1 && said.values.count == 1)
    await end()
  }

  @Test func `a probe is sent once a minute, but not without a connection`() async {
    probe.answered(canary, hasSubscribers: false)
    for _ in 1...9 {
      clock.advance(by: .seconds(60))
      probe.answered(topics.states, hasSubscribers: false)
    }
    #expect(probes == 10 && viewers.values == [[]])
    probe.disconnected()
    clock.advance(by: .seconds(600))
    #expect(probes == 10)
    await end()
  }

  @Test func `a subscriber keeps the devices awake until the broker reports that it has left`() async {
    probe.answered(canary, hasSubscribers: false)
    probe.answered(topics.states, hasSubscribers: true)
    #expect(viewers.values.last == [SubscriberProbe.viewer])
    // The states are answered too, so no other probe is needed while they come.
    states.append(1)
    clock.advance(by: .seconds(60))
    #expect(probes == 1)
    clock.advance(by: .seconds(60))
    #expect(probes == 2)
    probe.answered(topics.states, hasSubscribers: false)
    #expect(viewers.values.last == [])
    await end()
  }

  @Test func `a subscriber with a request wakes only the devices for that request`() async {
    probe.answered(canary, hasSubscribers: false)
    probe.answered(topics.states, hasSubscribers: true)
    let phone = ViewerRequest.Key(viewer: "phone", stream: .state)
    leases.receive(Array(#"{"parts": ["attitude"]}"#.utf8), expirySeconds: nil, from: phone)
    probe.reviewed()
    #expect(viewers.values.last == ["phone"])
    clock.advance(by: .seconds(60))
    probe.answered(topics.states, hasSubscribers: true)
    #expect(probes == 1 && viewers.values.last == ["phone"])
    await end()
  }
}
