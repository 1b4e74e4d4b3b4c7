import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// How long a hub is awake for viewers at the other end of a broker, with a clock that the test controls.
struct ViewerLeasesTests {
  private let clock = ManualClock()
  private let viewers = Recorder<[String]>()
  private let expired = Recorder<ViewerRequest.Key>()
  private let hub: Hub
  private let leases: ViewerLeases
  private let watching: Subscription
  private let phone = ViewerRequest.Key(viewer: "phone", stream: .part(.attitude))

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    leases = ViewerLeases(
      host: HubHost(hub, version: "test"), clock: clock, send: { _, _ in }, sendFix: { _, _ in },
      expired: { [expired] in expired.append($0) })
    watching = leases.audience.subscribe(
      as: "test", receiveValue: { [viewers] in viewers.append($0.viewers) })
    leases.connected()
  }

  private func say(_ text: String, expirySeconds: UInt32? = nil, again isRepeated: Bool = false) {
    leases.receive(Array(text.utf8), expirySeconds: expirySeconds, isRepeated: isRepeated, from: phone)
  }

  private func reconnect() {
    leases.disconnected()
    leases.connected()
  }

  private var isHeld: Bool { viewers.values.last == ["phone"] }

  private func end() async {
    leases.end()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a request with a time ends after it, however often the connection is lost`() async {
    say(#"{"for": 60}"#)
    for _ in 1...5 {
      clock.advance(by: .seconds(11))
      reconnect()
      say(#"{"for": 60}"#, again: true)
      #expect(isHeld)
    }
    clock.advance(by: .seconds(6))
    #expect(!isHeld)
    #expect(expired.values == [phone])
    await end()
  }

  @Test func `if two threads report the viewers at once, the later report counts`() async {
    let told = Recorder<[String]>()
    let isTelling = Recorder<Bool>()
    let mayGoOn = Guarded(false)
    let slow = leases.audience.subscribe(
      as: "slow",
      receiveValue: { audience in
        if audience.viewers == ["phone"] {
          isTelling.append(true)
          hold { mayGoOn.withLock { $0 } }
        }
        told.append(audience.viewers)
      })
    let error = DetachedThread.start("viewer") { [self] in say("{}") }
    #expect(error == 0)
    #expect(isTelling.waits { $0 == [true] })
    say("")
    mayGoOn.withLock { $0 = true }
    await told.first(3)
    #expect(told.values == [[], ["phone"], []])
    slow.cancel()
    await end()
  }

  @Test func `a broker that shuts down removes no request, and viewers have time to come back`() async {
    say("{}")
    leases.brokerLeaves()
    say("")
    #expect(isHeld)
    leases.disconnected()
    clock.advance(by: .seconds(3))
    leases.connected()
    clock.advance(by: .seconds(9))
    say("{}")
    clock.advance(by: .seconds(60))
    #expect(viewers.values == [[], ["phone"]])
    // From then on the viewer's own message counts again.
    say("")
    #expect(!isHeld)
    await end()
  }

  @Test func `a request that a broker removed just before it shut down continues`() async {
    say("{}")
    say("")
    #expect(!isHeld)
    leases.brokerLeaves()
    #expect(isHeld)
    reconnect()
    clock.advance(by: .milliseconds(9900))
    #expect(isHeld)
    // The viewer has not returned.
    clock.advance(by: .milliseconds(200))
    #expect(!isHeld)
    // The hub does not wait for a viewer that had left before.
    say("{}")
    say("")
    clock.advance(by: .seconds(1))
    leases.brokerLeaves()
    #expect(!isHeld)
    await end()
  }

  @Test func `if a broker stays after all, viewers that left in the meantime are dropped after a while`() async {
    say("{}")
    leases.brokerLeaves()
    say("")
    clock.advance(by: .seconds(9))
    #expect(isHeld)
    clock.advance(by: .seconds(2))
    #expect(!isHeld)
    say("{}")
    say("")
    #expect(!isHeld)
    await end()
  }

  @Test func `repeated announcements of a broker's shutdown keep no device awake`() async {
    say("{}")
    leases.brokerLeaves()
    say("")
    for _ in 1...3 {
      clock.advance(by: .seconds(4))
      leases.brokerLeaves()
    }
    #expect(!isHeld)
    say("{}")
    say("")
    leases.brokerLeaves()
    #expect(!isHeld)
    await end()
  }

  @Test func `a request with a time that a leaving broker removes does not last for that time`() async {
    say(#"{"for": 3600}"#)
    leases.brokerLeaves()
    say("")
    reconnect()
    clock.advance(by: .seconds(9))
    #expect(isHeld)
    clock.advance(by: .seconds(2))
    #expect(!isHeld)
    // The hub does not wait either if the request was ended just before.
    say(#"{"for": 3600}"#)
    say("")
    leases.brokerLeaves()
    #expect(isHeld)
    clock.advance(by: .seconds(11))
    #expect(!isHeld)
    // A viewer that returns has its request as before.
    reconnect()
    say(#"{"for": 3600}"#)
    leases.brokerLeaves()
    say("")
    reconnect()
    say(#"{"for": 3600}"#)
    clock.advance(by: .seconds(3000))
    #expect(isHeld)
    await end()
  }

  @Test func `a request that ended while the broker was away does not start again`() async {
    say(#"{"for": 60}"#)
    leases.disconnected()
    clock.advance(by: .seconds(61))
    #expect(!isHeld)
    leases.connected()
    say(#"{"for": 60}"#, again: true)
    #expect(!isHeld)
    // The expiry is sent to the broker until the broker has removed the request.
    #expect(expired.values == [phone, phone])
    say("")
    // The viewer may make the request again at any time.
    say(#"{"for": 60}"#)
    #expect(isHeld)
    await end()
  }

  @Test func `a request renewed while the broker was away counts from the renewal`() async {
    say(#"{"for": 60}"#, expirySeconds: 60)
    clock.advance(by: .seconds(50))
    reconnect()
    say(#"{"for": 60}"#, expirySeconds: 55, again: true)
    clock.advance(by: .seconds(50))
    #expect(isHeld)
    reconnect()
    // Another text counts as another request.
    say(#"{"for": 60, "name": "again"}"#, again: true)
    clock.advance(by: .seconds(50))
    #expect(isHeld)
    clock.advance(by: .seconds(11))
    #expect(!isHeld)
    await end()
  }

  @Test func `a viewer prolongs its schedule by repeating it, and otherwise it ends after its time`() async {
    let position = ViewerRequest.Key(viewer: "phone", stream: .part(.position))
    func say() {
      leases.receive(Array(#"{"every": 604800, "for": 60}"#.utf8), expirySeconds: nil, from: position)
    }
    var schedules: [ScheduleReport] { hub.devices.flatMap(\.schedules) }
    for _ in 1...3 {
      say()
      clock.advance(by: .seconds(40))
      #expect(isHeld)
      // There is one lease throughout. Another one would wake the receiver at once.
      #expect(schedules.map(\.holder) == ["mqtt phone"])
    }
    clock.advance(by: .seconds(21))
    #expect(!isHeld && schedules.isEmpty)
    #expect(expired.values == [position])
    await end()
  }

  private func holders(_ device: String) -> [String]? { hub.devices.first { $0.id == device }?.holders }

  @Test func `requests that begin and end without a pause keep the device awake in the end`() async {
    for _ in 1...RequestStarts.most {
      say("{}")
      say("")
      #expect(hub.waits { holders("imu") == [] })
    }
    for _ in 1...3 {
      say("{}")
      say("")
      #expect(!isHeld)
      #expect(hub.waits { holders("imu") == ["mqtt frequent requests (attitude)"] })
      clock.advance(by: RequestStarts.floor - .seconds(1))
      #expect(hub.waits { holders("imu") == ["mqtt frequent requests (attitude)"] })
      clock.advance(by: .seconds(1))
      #expect(hub.waits { holders("imu") == [] })
    }
    // The hour since the first requests is over.
    clock.advance(by: RequestStarts.window)
    say("{}")
    say("")
    #expect(hub.waits { holders("imu") == [] })
    await end()
  }

  @Test func `requests that the known state answers keep no device awake, however often they come`() async {
    let request = #"{"rateHz": 0, "maxAge": 86400}"#
    say(request)
    // The sensor measures once, for the first request.
    #expect(hub.waits { hub.devices.contains { $0.id == "imu" && $0.wakes == 1 } && holders("imu") == [] })
    for _ in 1...RequestStarts.most + 5 { say(request) }
    #expect(holders("imu") == [])
    #expect(hub.devices.contains { $0.id == "imu" && $0.wakes == 1 })
    await end()
  }

  @Test func `requests for the parts of a device that is awake start nothing, and requests under other names do`() async
  {
    let other = ViewerRequest.Key(viewer: "tablet", stream: .part(.attitude))
    leases.receive(Array("{}".utf8), expirySeconds: nil, from: other)
    for _ in 1...2 * RequestStarts.most {
      say("{}")
      say("")
    }
    leases.receive([], expirySeconds: nil, from: other)
    #expect(hub.waits { holders("imu") == [] })
    for number in 1...RequestStarts.most {
      let key = ViewerRequest.Key(viewer: "phone-\(number)", stream: .part(.attitude))
      leases.receive(Array("{}".utf8), expirySeconds: nil, from: key)
      leases.receive([], expirySeconds: nil, from: key)
    }
    #expect(hub.waits { holders("imu") == ["mqtt frequent requests (attitude)"] })
    // A user with the rights can end it.
    #expect(leases.releaseAll() == 0)
    #expect(hub.waits { holders("imu") == [] })
    await end()
  }

  @Test func `a viewer prolongs its request by repeating it`() async {
    for _ in 1...3 {
      say(#"{"for": 60}"#)
      clock.advance(by: .seconds(40))
      #expect(isHeld)
    }
    await end()
  }
}
