import Hub
import MonotonicTime
import Testing

@testable import Outputs

/// When users are notified of trouble and of its end.
struct HookAlarmsTests {
  private static func at(_ seconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: (1000 + seconds) * 1_000_000_000)
  }

  private static let gps = HookAlarms.Key(event: .device, subject: "gps")
  private static let line = HookAlarms.Key(event: .line, subject: "gps")

  private static func failing() -> HookAlarms.Look {
    var look = HookAlarms.Look()
    let failure = DeviceCondition(.failed, .problem, "no port", nextStep: "plug it in", since: at(0))
    look.add(DeviceAlarms(failure: failure), of: "gps")
    return look
  }

  private static func working() -> HookAlarms.Look {
    var look = HookAlarms.Look()
    look.add(DeviceAlarms(isMeasuring: true, isHeard: true), of: "gps")
    return look
  }

  private static func resting() -> HookAlarms.Look {
    var look = HookAlarms.Look()
    look.add(DeviceAlarms(), of: "gps")
    return look
  }

  @Test func `a lasting failure is reported once, and so is its end`() {
    var alarms = HookAlarms()
    let first = alarms.look(Self.failing(), at: Self.at(0))
    #expect(first.changes.isEmpty && first.next == Self.at(10))
    let told = alarms.look(Self.failing(), at: Self.at(10)).changes
    #expect(told == [.init(key: Self.gps, trouble: .init(text: "no port", nextStep: "plug it in"))])
    #expect(alarms.look(Self.failing(), at: Self.at(500)).changes.isEmpty)
    let back = alarms.look(Self.working(), at: Self.at(600))
    #expect(back.changes.isEmpty && back.next == Self.at(630))
    #expect(alarms.look(Self.working(), at: Self.at(630)).changes == [.init(key: Self.gps, trouble: nil)])
    #expect(alarms.look(Self.working(), at: Self.at(700)).changes.isEmpty && alarms.raised.isEmpty)
  }

  @Test func `a failure that is gone at the next attempt is not reported`() {
    var alarms = HookAlarms()
    for second in stride(from: Int64(0), to: 200, by: 10) {
      #expect(alarms.look(Self.failing(), at: Self.at(second)).changes.isEmpty)
      #expect(alarms.look(Self.working(), at: Self.at(second + 5)).changes.isEmpty)
    }
  }

  @Test func `a device that fails again and again is reported as failed once`() {
    var alarms = HookAlarms()
    var changes = 0
    for second in 0..<300 {
      let look = second % 40 < 20 ? Self.failing() : Self.working()
      changes += alarms.look(look, at: Self.at(Int64(second))).changes.count
    }
    #expect(changes == 1)
  }

  @Test func `a resting device is not reported as recovered, even by the next run of the hub`() {
    var alarms = HookAlarms(raised: [Self.gps, Self.line])
    _ = alarms.look(Self.resting(), at: Self.at(0))
    let changes = alarms.look(Self.resting(), at: Self.at(10_000)).changes
    #expect(changes == [.init(key: Self.line, trouble: nil)])
    #expect(alarms.raised == [Self.gps])
    // A visit of a few seconds is enough, because the trouble does not return after it.
    #expect(alarms.look(Self.working(), at: Self.at(10_001)).next == Self.at(10_031))
    _ = alarms.look(Self.resting(), at: Self.at(10_005))
    #expect(alarms.look(Self.resting(), at: Self.at(10_031)).changes == [.init(key: Self.gps, trouble: nil)])
  }

  @Test func `a line that stays on and a low supply are reported at once`() {
    var alarms = HookAlarms()
    var look = HookAlarms.Look()
    look.add(DeviceAlarms(reported: [.supply: "10.9 V", .jamming: "jammed"], lineProblem: "busy"), of: "gps")
    let events = alarms.look(look, at: Self.at(0)).changes.map(\.key.event)
    #expect(events == [.line, .supply])
    #expect(alarms.look(look, at: Self.at(10)).changes.map(\.key.event) == [.jamming])
  }

  @Test func `a battery that is not known to have recovered is still low for the hooks`() {
    let supply = HookAlarms.Key(event: .supply, subject: "meter")
    var alarms = HookAlarms(raised: [supply])
    func look(isKnown: Bool) -> HookAlarms.Look {
      var look = HookAlarms.Look()
      look.add(DeviceAlarms(isMeasuring: true, isHeard: true, isSupplyKnown: isKnown), of: "meter")
      return look
    }
    #expect(alarms.look(look(isKnown: false), at: Self.at(0)).changes.isEmpty)
    #expect(alarms.look(look(isKnown: false), at: Self.at(100)).changes.isEmpty)
    _ = alarms.look(look(isKnown: true), at: Self.at(101))
    #expect(alarms.look(look(isKnown: true), at: Self.at(131)).changes == [.init(key: supply, trouble: nil)])
  }

  @Test func `each shutdown is reported, and its end only after one`() {
    var alarms = HookAlarms()
    let before = alarms.mark(.shutdown, false, of: "meter")
    let attempts = [alarms.mark(.shutdown, true, of: "meter"), alarms.mark(.shutdown, true, of: "meter")]
    // The next run of the hub starts with the reported troubles.
    var next = HookAlarms(raised: alarms.raised)
    let ends = [next.mark(.shutdown, false, of: "meter"), next.mark(.shutdown, false, of: "meter")]
    #expect(!before && attempts == [true, true] && ends == [true, false])
  }

  @Test func `a device removed from the board is forgotten`() {
    var alarms = HookAlarms(raised: [Self.gps, Self.line])
    alarms.keep { $0.subject != "gps" }
    #expect(alarms.raised.isEmpty)
  }

  private static func fence(_ event: FenceStatus.Event?, _ state: FenceStatus.State) -> FenceStatus {
    var status = FenceStatus(name: "anchor", since: at(0))
    (status.event, status.state) = (event, state)
    return status
  }

  @Test func `a return to a fence is reported only after leaving it, and a board that starts outside has left it`() {
    let left = [HookAlarms.FenceChange(event: .fence, isRaised: true)]
    let returned = [HookAlarms.FenceChange(event: .fence, isRaised: false)]
    var alarms = HookAlarms()
    #expect(alarms.look(at: Self.fence(nil, .unknown)).isEmpty)
    #expect(alarms.look(at: Self.fence(.found, .outside)) == left)
    #expect(alarms.look(at: Self.fence(.enter, .inside)) == returned)
    #expect(alarms.look(at: Self.fence(.leave, .outside)) == left)
    // The next run of the hub finds the board still outside, and then the board returns.
    var next = HookAlarms(raised: alarms.raised)
    #expect(next.look(at: Self.fence(.found, .outside)).isEmpty)
    #expect(next.look(at: Self.fence(.enter, .inside)) == returned)
    #expect(next.look(at: Self.fence(.found, .inside)).isEmpty && next.raised.isEmpty)
    // Another run learns that the board has returned only by finding it inside.
    var other = HookAlarms(raised: alarms.raised)
    #expect(other.look(at: Self.fence(.found, .inside)) == returned)
  }

  @Test func `a fence without fixes keeps its side, and reports that it is watched again first`() {
    var alarms = HookAlarms()
    _ = alarms.look(at: Self.fence(.leave, .outside))
    #expect(alarms.look(at: Self.fence(.lost, .unknown)) == [.init(event: .blind, isRaised: true)])
    #expect(alarms.look(at: Self.fence(.lost, .unknown)).isEmpty)
    let back = alarms.look(at: Self.fence(.enter, .inside))
    #expect(back == [.init(event: .blind, isRaised: false), .init(event: .fence, isRaised: false)])
  }
}
