import Devices
import MonotonicTime
import Testing

@testable import Hub
@testable import NMEA

/// Receivers that know the time, that do not know it, and that wrongly claim to know it.
struct ClockTests {
  private static let noon: Int64 = 1_795_262_400_000_000_000
  private static let second: Int64 = 1_000_000_000

  /// An epoch: its time as an offset from noon, when it came, and whether it has a fix.
  struct Epoch: Sendable {
    var time: Double?
    var at: Double
    var isFix = true
  }

  /// A receiver's epochs, and whether it knows the time after the last of them.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var epochs: [Epoch]
    var isConfirmed: Bool
    /// How long the receiver had been on at the first epoch, in seconds.
    var onFor: Double
    /// How far the system clock is ahead of the true time, in seconds.
    var systemAhead: Double
    /// Whether the receiver's power was switched on at the stated time.
    var isSwitched: Bool

    init(
      _ name: String, _ epochs: [Epoch], _ isConfirmed: Bool, onFor: Double = 30, isSwitched: Bool = true,
      systemAhead: Double = 0
    ) {
      testDescription = name
      self.epochs = epochs
      self.isConfirmed = isConfirmed
      self.onFor = onFor
      self.isSwitched = isSwitched
      self.systemAhead = systemAhead
    }

    /// Epochs a second apart with these times.
    init(
      _ name: String, times: [Double?], _ isConfirmed: Bool, onFor: Double = 30, isSwitched: Bool = true,
      systemAhead: Double = 0
    ) {
      self.init(
        name, times.enumerated().map { Epoch(time: $1, at: Double($0)) }, isConfirmed, onFor: onFor,
        isSwitched: isSwitched, systemAhead: systemAhead)
    }
  }

  static let cases = [
    Case("three epochs that agree", times: [0, 1, 2], true),
    Case("two are not enough", times: [0, 1], false),
    Case("no date", times: [0, 1, nil], false),
    Case("leap seconds heard at last", times: [2, 3, 4, 3], false),
    Case("and agreeing again after them", times: [2, 3, 4, 3, 4, 5], true),
    Case("a wrong leap offset after a cold start", times: [2, 3, 4, 5, 6], false),
    Case("one behind", times: [-1, 0, 1, 2, 3], false),
    Case("a cold start beside a system clock that is not set", times: [0, 1, 2, 3], false, systemAhead: -1e6),
    Case("a hot start beside one", times: [0, 1, 2], true, onFor: 3, systemAhead: -1e6),
    Case(
      "who has a fix when it is first heard, and no switch", times: [0, 1, 2], false, onFor: 3, isSwitched: false,
      systemAhead: -1e6),
    Case(
      "leap seconds must have been heard after 12.5 minutes", times: (0...805).map(Double.init), true,
      systemAhead: -1e6),
    Case("a leap second", times: [0, 1, 2, 3, 4, 4], false, onFor: 3),
    Case("1024 weeks ago", times: [0, 1, 2, 3].map { $0 - 1024 * 7 * 86400 }, false),
    Case(
      "no fix, no time", [Epoch(time: 0, at: 0), Epoch(time: 1, at: 1), Epoch(time: 2, at: 2, isFix: false)], false),
    Case(
      "arriving as they like", [Epoch(time: 0, at: 0), Epoch(time: 0.2, at: 0), Epoch(time: 0.4, at: 0.5)], true),
  ]

  @Test(arguments: cases)
  func `a receiver's time is used once the receiver has confirmed it`(_ example: Case) {
    let start = example.epochs[0].at
    var confirmation = TimeConfirmation(
      switchedOnAt: example.isSwitched ? ClockTests.instant(start - example.onFor) : nil)
    var isConfirmed = false
    for epoch in example.epochs {
      let time = epoch.time.map { UTCTime(nanosecondsSince1970: ClockTests.noon + Int64($0 * 1e9)) }
      isConfirmed = confirmation.take(
        time, isFix: epoch.isFix, at: ClockTests.instant(epoch.at),
        // An epoch whose time equals its arrival states the true time, and takes a tenth of a second to arrive.
        system: ClockTests.noon + Int64((epoch.at + example.systemAhead + 0.1) * 1e9))
    }
    #expect(isConfirmed == example.isConfirmed)
  }

  @Test func `a week rollover is corrected for a live receiver, but not for a recording`() {
    let era: Int64 = 1024 * 7 * 86400 * ClockTests.second
    func eras(_ time: Int64, system: Int64) -> Int64 {
      WeekRollover.eras(behind: UTCTime(nanosecondsSince1970: time), system: system)
    }
    #expect(eras(ClockTests.noon, system: ClockTests.noon) == 0)
    #expect(eras(ClockTests.noon - era, system: ClockTests.noon) == 1)
    #expect(eras(ClockTests.noon - 2 * era, system: ClockTests.noon + 5 * ClockTests.second) == 2)
    // The recording is from 2019, and the system clock is not set.
    let recorded: Int64 = 1_554_508_800 * ClockTests.second
    #expect(eras(recorded, system: ClockTests.noon) == 0)
    #expect(eras(ClockTests.noon - era, system: 0) == 1)
    // The log is replayed with its own times.
    let old = UTCTime(nanosecondsSince1970: recorded)
    #expect(WeekRollover.eras(behind: old, system: recorded, allowsOldTimes: true) == 0)
    #expect(WeekRollover.eras(behind: old, system: recorded) > 0)
    let carried = WeekRollover.carry(UTCTime(nanosecondsSince1970: ClockTests.noon - era), by: 1)
    #expect(carried.nanosecondsSince1970 == ClockTests.noon)
  }

  private static func instant(_ seconds: Double) -> MonotonicInstant {
    .init(nanoseconds: Int64((seconds + 1000) * 1e9))
  }

  private func epoch(_ seconds: Double, isConfirmed: Bool = true) -> GNSSObservation {
    var fix = GNSSFix()
    fix.time = UTCTime(nanosecondsSince1970: ClockTests.noon + Int64(seconds * 1e9))
    var epoch = GNSSObservation(at: ClockTests.instant(seconds), fix: fix, sky: [])
    epoch.isTimeConfirmed = isConfirmed
    return epoch
  }

  @Test func `without a pulse, the clock offset comes from the arrival of an epoch, less the receiver's latency`() {
    var comparison = ClockComparison(fixLatency: .milliseconds(80))
    // The system clock is two seconds slow, and the epoch takes 80 ms.
    let system = ClockTests.noon + 5 * ClockTests.second - 2 * ClockTests.second + 80_000_000
    let offset = comparison.offset(of: epoch(5), pulse: nil, system: system)
    #expect(offset?.source == .epoch)
    #expect(offset?.offsetSeconds == 2)
    #expect(comparison.offset(of: epoch(6, isConfirmed: false), pulse: nil, system: system) == nil)
  }

  @Test func `with a pulse, each whole second gives one clock offset`() {
    var comparison = ClockComparison(fixLatency: .zero)
    // The system clock is 250 ms fast.
    let pulse = ClockTests.noon + 5 * ClockTests.second + 250_000_000
    let offset = comparison.offset(of: epoch(5), pulse: pulse, system: pulse + 400_000_000)
    #expect(offset?.source == .pulse)
    #expect(offset?.offsetSeconds == -0.25)
    // The cases are: the same pulse again, an epoch between two pulses, an epoch that came too late, and a pulse that
    // has stopped.
    #expect(comparison.offset(of: epoch(5), pulse: pulse, system: pulse + 400_000_000) == nil)
    #expect(comparison.offset(of: epoch(5.2), pulse: pulse + 1, system: pulse + 600_000_000) == nil)
    #expect(comparison.offset(of: epoch(6), pulse: pulse + 2, system: pulse + 1_400_000_000) == nil)
    #expect(comparison.offset(of: epoch(20), pulse: pulse, system: pulse + 15 * ClockTests.second)?.source == .epoch)
  }

  @Test func `a pulse that comes each second at the same instant is reliable`() {
    var comparison = ClockComparison(fixLatency: .zero)
    var judge = PulseJudge()
    func status(_ seconds: Double, pulse: Int64?, quantisation: Double? = nil) -> PulseStatus {
      var epoch = epoch(seconds)
      epoch.fix.pulseErrorSeconds = quantisation
      let system = ClockTests.noon + Int64(seconds * 1e9) + 400_000_000
      let offset = comparison.offset(of: epoch, pulse: pulse, system: system)
      return judge.take(epoch, offset: offset, pulse: pulse, system: system)
    }
    func pulse(_ second: Int64, lateBy nanoseconds: Int64) -> Int64 {
      ClockTests.noon + second * ClockTests.second + nanoseconds
    }
    #expect(status(1, pulse: nil).state == .missing)
    let first = status(2, pulse: pulse(2, lateBy: 0))
    #expect(first.state == .present && first.jitterSeconds == nil)
    let second = status(3, pulse: pulse(3, lateBy: 2000), quantisation: -4.2e-9)
    #expect(second.state == .present && second.quantisationErrorSeconds == -4.2e-9)
    #expect(second.jitterSeconds.map { abs($0 - 2e-6) < 1e-9 } == true)
    #expect(status(4, pulse: pulse(4, lateBy: 30_000_000)).state == .unsteady)
    #expect(status(9, pulse: pulse(4, lateBy: 30_000_000)).state == .missing)
    #expect(status(10, pulse: pulse(10, lateBy: 0)).state == .present)
  }

  /// The offsets are those that a LEA-M8F and others state in NAV-PVT.
  @Test(arguments: [-192_599, 399_080] as [Int64])
  func `an instant that a u-blox states beside its second belongs to that second's pulse`(_ nanoseconds: Int64) {
    var comparison = ClockComparison(fixLatency: .zero)
    let pulse = ClockTests.noon + 5 * ClockTests.second + 250_000_000
    var observation = epoch(5)
    observation.fix.time?.nanosecondsSince1970 += nanoseconds
    let offset = comparison.offset(of: observation, pulse: pulse, system: pulse + 400_000_000)
    #expect(offset?.source == .pulse && offset?.offsetSeconds == -0.25)
  }

  @Test func `after the system clock is set back, a pulse that has ended does not prevent offsets`() {
    var comparison = ClockComparison(fixLatency: .zero)
    let pulse = ClockTests.noon + 90 * 86_400 * ClockTests.second
    let offset = comparison.offset(of: epoch(6), pulse: pulse, system: ClockTests.noon + 6 * ClockTests.second)
    #expect(offset?.source == .epoch)
  }
}
