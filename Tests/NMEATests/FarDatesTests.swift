import TestSupport
import Testing

@testable import NMEA

/// Dates at the ends of the accepted years, from receivers that have lost their clock or from hostile input.
struct FarDatesTests {
  /// The fixes of a recording with these sentences.
  private func fixes(_ bodies: [String]) -> [GNSSFix] {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var fixes: [GNSSFix] = []
    for (index, body) in bodies.enumerated() {
      Array(nmeaLine(body).utf8).withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(index) * 1_000_000) { frame in
          if case .sentence(let raw) = frame { assembler.consume(raw) { fixes.append($0.fix) } }
        }
      }
    }
    assembler.finish { fixes.append($0.fix) }
    return fixes
  }

  private func gga(_ time: String) -> String { "GPGGA,\(time),4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,," }

  @Test func `a date outside of the accepted years is none`() {
    #expect(CalendarDate(year: 1969, month: 12, day: 31) == nil && CalendarDate(year: 2201, month: 1, day: 1) == nil)
    #expect(CalendarDate(year: 1970, month: 1, day: 1)?.previous == nil)
    #expect(CalendarDate(year: 2200, month: 12, day: 31)?.next == nil)
    #expect(CalendarDate(year: 2026, month: 12, day: 31)?.next == CalendarDate(year: 2027, month: 1, day: 1))
  }

  @Test func `two epochs that are centuries apart are two epochs`() {
    let found = fixes(["GPZDA,120000,01,01,1970,00,00", gga("120000"), "GPZDA,120001,31,12,2200,00,00", gga("120001")])
    #expect(found.count == 2 && found.allSatisfy { $0.mode == .threeDimensional && $0.time != nil })
    let early = fixes(["GPZDA,120000,01,01,1900,00,00", gga("120000"), "GPZDA,120001,31,12,2200,00,00", gga("120001")])
    #expect(early.count == 2)
  }

  @Test func `a time after the last day has no date`() {
    let found = fixes(["GPZDA,235959,31,12,2200,00,00", gga("235959"), gga("000000"), gga("000001")])
    #expect(found.map { $0.time != nil } == [true, false, false])
  }

  @Test(arguments: [
    (-192_599, "123519.00"), (399_080, "123519.00"), (199_899_849, "123519.20"), (995_000_000, "123520.00"),
  ])
  func `a sentence states the nearest hundredth of a second`(_ nanoseconds: Int64, _ text: String) throws {
    let day = try #require(CalendarDate(year: 2026, month: 11, day: 23))
    var time = UTCTime(date: day, time: TimeOfDay(second: 12 * 3600 + 35 * 60 + 19))
    time.nanosecondsSince1970 += nanoseconds
    #expect(SentenceField.time(time) == text)
    // The date follows the rounded time.
    var midnight = UTCTime(date: day, time: TimeOfDay(second: 0))
    midnight.nanosecondsSince1970 -= 192_599
    #expect(SentenceField.time(midnight) == "000000.00" && SentenceField.date(midnight) == "231126")
  }
}
