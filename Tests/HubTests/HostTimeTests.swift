import Guarding
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Devices
@testable import Hub

/// Whether the time is certain enough to be sent to a receiver.
struct HostTimeTests {
  private let clock = ManualClock()
  private let readings = Readings()

  /// Readings of the system clock.
  private final class Readings: Sendable {
    let system = Guarded<Int64>(1_000_000_000_000)
    let error = Guarded<Duration?>(nil)
  }

  private func time() -> HostTime {
    HostTime(
      clock: clock, systemTime: { [readings] in readings.system.withLock { $0 } },
      systemError: { [readings] in readings.error.withLock { $0 } })
  }

  private func pass(_ seconds: Int64, ofSystem others: Int64? = nil) {
    clock.advance(by: .seconds(seconds))
    readings.system.withLock { $0 += (others ?? seconds) * 1_000_000_000 }
  }

  @Test func `a system clock that is not synchronized is not believed`() {
    let time = time()
    #expect(time.known == nil)
    readings.error.withLock { $0 = .milliseconds(20) }
    #expect(time.known?.utc.nanosecondsSince1970 == 1_000_000_000_000)
    #expect(time.known?.sigma == .seconds(1))
    readings.error.withLock { $0 = .seconds(4) }
    #expect(time.known?.sigma == .seconds(4))
  }

  @Test func `a confirmed time is carried on, and its sigma grows`() throws {
    let time = time()
    time.confirm(UTCTime(nanosecondsSince1970: 5_000_000_000_000), at: clock.now)
    pass(10_000)
    let known = try #require(time.known)
    #expect(known.utc.nanosecondsSince1970 == 15_000_000_000_000)
    #expect(known.sigma == .seconds(2))
  }

  @Test func `the time is unknown if the clocks disagree, because the machine was suspended or a clock was set`() {
    let time = time()
    time.confirm(UTCTime(nanosecondsSince1970: 5_000_000_000_000), at: clock.now)
    pass(100, ofSystem: 160)
    #expect(time.known == nil)
  }

  // MARK: Lasting knowledge

  private let place = ReceiverKnowledge.Position(
    latitudeDegrees: 48, longitudeDegrees: 11, altitudeHAEMetres: nil, sigmaMetres: 10)

  @Test func `a place is less accurate the older it is, until it is dropped`() {
    #expect(place.aged(by: .seconds(60))?.sigmaMetres == 1210)
    #expect(place.aged(by: .seconds(5 * 3600)) == nil)
  }

  @Test func `without the time, the age of stored knowledge is unknown`() {
    let knowledge = ReceiverKnowledge(receiver: "x", savedAt: 1_000_000_000_000, place: place)
    #expect(knowledge.age(at: clock.now, nil) == nil)
    let later = KnownTime(
      utc: UTCTime(nanosecondsSince1970: 1_060_000_000_000), at: clock.now, sigma: .seconds(1))
    #expect(knowledge.age(at: clock.now, later) == .seconds(60))
    // The time was stored by a clock that was ahead.
    let earlier = KnownTime(utc: UTCTime(nanosecondsSince1970: 0), at: clock.now, sigma: .seconds(1))
    #expect(knowledge.age(at: clock.now, earlier) == nil)
  }
}
