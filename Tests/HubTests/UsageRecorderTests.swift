import Devices
import MonotonicTime
import Testing

@testable import Hub

/// The events from which a device's usage history learns: its starts and its gaps.
struct UsageRecorderTests {
  private let costs = LearnedIdleTimeout.Costs(watts: 0.1, assumedJoules: 3)

  private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: 0) + .seconds(seconds) }

  /// A recorder of a device that has been off since the start of the test.
  private var off: UsageRecorder {
    var usage = UsageRecorder()
    #expect(usage.released(at: at(0), 0, restWatts: 0) == nil)
    return usage
  }

  @Test func `the first start teaches nothing, because the time off before it is unknown`() {
    var usage = UsageRecorder()
    usage.required(at: at(0), 0)
    #expect(usage.tracking(at: at(30), 1, restWatts: 0) == nil)
  }

  @Test func `the first start teaches something if the machine was off before it`() {
    var usage = UsageRecorder()
    usage.rested(since: at(-240))
    #expect(usage.offSince == at(-240))
    usage.required(at: at(60), 0)
    // A time that comes too late changes nothing.
    usage.rested(since: at(-1000))
    #expect(
      usage.tracking(at: at(70), 1, restWatts: 0)
        == .started(off: 300, joules: 3.6, seconds: 10, isComplete: true, sleep: nil))
    #expect(usage.released(at: at(80), 1, restWatts: 0) == nil)
    usage.rested(since: at(-1000))
    #expect(usage.offSince == at(80))
  }

  @Test func `the cost of a start is its energy less that of resting, and is recorded for the sleep mode before it`() {
    var usage = off
    usage.required(at: at(60), 2, after: .backup)
    // The device drew 1 mWh, which is 3.6 J, in 20 s. At rest it would have drawn 0.6 J.
    #expect(
      usage.tracking(at: at(80), 3, restWatts: 0.03)
        == .started(off: 60, joules: 3, seconds: 20, isComplete: true, sleep: .backup))
    #expect(usage.released(at: at(90), 4, restWatts: 0.03) == nil, "the start counts once")
    #expect(usage.offSince == at(90))
  }

  @Test func `a start that is given up shows the least that it costs`() {
    var usage = off
    usage.required(at: at(60), 0)
    #expect(
      usage.released(at: at(70), 1, restWatts: 0)
        == .started(off: 60, joules: 3.6, seconds: 10, isComplete: false, sleep: nil))
  }

  @Test func `a start without an answer teaches nothing, and the time off goes on`() {
    var usage = off
    usage.required(at: at(60), 0)
    usage.abandoned(at: at(70))
    #expect(usage.offSince == at(0))
    usage.required(at: at(90), 1)
    #expect(
      usage.tracking(at: at(100), 2, restWatts: 0)
        == .started(off: 90, joules: 3.6, seconds: 10, isComplete: true, sleep: nil))
  }

  @Test func `a start during which the machine was suspended does not count, but the time off before it does`() {
    var usage = off
    usage.goBack(by: .seconds(3600))
    usage.required(at: at(60), 0)
    #expect(
      usage.tracking(at: at(70), 1, restWatts: 0)
        == .started(off: 3660, joules: 3.6, seconds: 10, isComplete: true, sleep: nil))
    #expect(usage.released(at: at(80), 1, restWatts: 0) == nil)
    usage.required(at: at(90), 1)
    usage.goBack(by: .seconds(3600))
    #expect(usage.tracking(at: at(100), 2, restWatts: 0) == nil)
  }

  @Test func `a gap ends with the next client, unless a scheduled fix came between`() {
    var usage = UsageRecorder()
    #expect(usage.came(at: at(0), costs) == nil)
    usage.left(at: at(10), lingering: 5)
    #expect(usage.came(at: at(40), costs) == .visited(gap: 30, lingered: 5, costs))
    #expect(usage.came(at: at(41), costs) == nil, "the gap counts once")
    usage.left(at: at(50), lingering: nil)
    usage.forgetGap()
    #expect(usage.came(at: at(90), costs) == nil)
  }
}
