import Devices
import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// A hub with one state that is delayed while another one is made, as any thread of a busy machine may be.
final class LateHub: Sendable {
  /// A subscriber that is notified before the client and takes a while.
  private struct Hold {
    /// How many states a second the subscriber gets; `nil` for all.
    var rateHz: Double?
    var isLong = false
    var isUnderWay = false
    var hasBegun = false
    /// Whether the delayed state has been delivered.
    var isOver = false
  }

  private let feed = ReplayFeed()
  private let clock = ManualClock(now: LateHub.instant(0))
  let hub: Hub
  let host: HubHost
  private let hold = Guarded(Hold())
  private let news = News()
  private let lifetime = Lifetime()

  /// The instant this number of seconds after noon by the receiver's time.
  static func instant(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 20_000_000_000 + Int64(seconds * 1e9))
  }

  static func instant(_ seconds: Int) -> MonotonicInstant { instant(Double(seconds)) }

  init() throws {
    let text = """
      { name: 'test', nmea: { port: 10110, source: 'fused' },
        devices: { gps: { driver: 'nmea', port: 'nowhere' }, baro: { driver: 'bme280', bus: 'nowhere' },
          meter: { driver: 'ina226', bus: 'nowhere' } } }
      """
    hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "test"),
      on: Machine(replaying: feed, clock: clock, systemTime: { 1_800_000_000_000_000_000 }))
    host = HubHost(hub, version: "test")
  }

  /// Adds a subscriber that keeps everything awake except the supply monitor, with a receiver whose epochs have a known
  /// end.
  func begin(rateHz: Double?) {
    hold.withLock { $0.rateHz = rateHz }
    let parts: Set<StatePart> = [.position, .pressure]
    let states = rateHz.map { hub.state(rateHz: $0, parts: parts) } ?? hub.state(parts: parts)
    states.subscribe(
      as: "slow",
      receiveValue: { [weak self] _ in self?.holdUp() }
    ).store(in: lifetime)
    for second in 0..<6 { report(second) }
  }

  private func holdUp() {
    let isLong = hold.withLock { hold in
      if hold.isLong { hold.isUnderWay = true }
      return hold.isLong
    }
    if isLong {
      news.came()
      #expect(waits { !$0.isLong })
    }
  }

  private func change(_ change: (inout Hold) -> Void) {
    hold.withLock(change)
    news.came()
  }

  private func waits(until isMet: (Hold) -> Bool) -> Bool { news.waits { hold.withLock { isMet($0) } } }

  /// Reports an epoch of the receiver.
  func report(_ second: Int) {
    let instant = LateHub.instant(second)
    clock.run(until: instant)
    let epoch =
      LateHub.sentence("GPRMC,12000\(second).00,A,5231.000\(second),N,01322.0000,E,10.0,90.0,231126,,,A")
      + LateHub.sentence("GPGGA,12000\(second).00,5231.000\(second),N,01322.0000,E,1,09,0.9,40.0,M,42.0,M,,")
    feed.receiver("gps").send(ReceivedBytes(bytes: Array(epoch.utf8), beganAt: instant, readAt: instant))
  }

  private static func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)\r\n"
  }

  private func measure(_ pascals: Double) {
    feed.barometer("baro").send(
      BarometerSample(at: clock.now, pressurePascals: pascals, temperatureCelsius: 20, humidityPercent: nil))
  }

  /// The holders of the supply monitor.
  var supplyHolders: [String] { hub.devices.first { $0.id == "meter" }?.holders ?? [] }

  /// While a client subscribes to the states, makes a state that is delayed before it reaches the client, and another
  /// one that is not, in the eighth second.
  func overtake(duringWhat subscribe: () -> Void) {
    let present = hub.states.fused.activity.value.subscriberCount
    let watch = hub.states.fused.activity.subscribe(
      as: "test", receiveValue: { [self] activity in if activity.subscriberCount > present { clientCame() } })
    subscribe()
    // The delayed subscriber of each state has not been released yet.
    change { $0.isLong = false }
    #expect(waits { $0.isOver })
    watch.cancel()
  }

  private func clientCame() {
    let (isFirst, isPaced) = hold.withLock { hold in
      defer { hold.hasBegun = true }
      return (!hold.hasBegun, hold.rateHz != nil)
    }
    guard isFirst else { return }
    if isPaced {
      // This state waits until it is due.
      clock.run(until: LateHub.instant(7.5))
      measure(100_000)
    } else {
      clock.run(until: LateHub.instant(6.6))
    }
    hold.withLock { $0.isLong = true }
    let error = DetachedThread.start("late") { [self] in
      if isPaced { clock.run(until: LateHub.instant(8)) } else { measure(100_000) }
      change { $0.isOver = true }
    }
    #expect(error == 0)
    #expect(waits { $0.isUnderWay })
    guard isPaced else { return report(8) }
    measure(100_001)
    // The client has not left its previous stream yet.
    change { $0.isLong = false }
    #expect(waits { $0.isOver })
  }
}
