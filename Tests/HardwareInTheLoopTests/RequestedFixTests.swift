import Glibc
import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

extension HardwareInTheLoop {
  /// Periodic fixes, observed on the receiver's power line.
  @Suite(.serialized, .enabled(if: Bench.isVirtual, "only the virtual bench plays receivers"), .timeLimit(.minutes(10)))
  struct RequestedFixTests {
    @Test func `after ten starts, a scheduled fix comes at its time, from a receiver that is off in between`() throws {
      let bench = try CommandedBench(.ublox8, timeToFirstFixScale: 0.3)
      let hub = bench.hub("nmea", "lingerSeconds: 0")
      let (rate, learning, measured) = (6, 10, 20)
      let client = SocketClient(path: hub.socket)
      client.send("{\"every\": \(rate), \"accuracy\": 20, \"within\": 5}\n")
      // Each fix is due at a multiple of the period since the clock's origin; the first one is due immediately.
      var delays: [Duration] = []
      var risesInLearning = 0
      for number in 1...(1 + learning + measured) {
        #expect(eventually { client.lineCount >= number })
        let sinceDue = MonotonicClock().now.nanoseconds % (Int64(rate) * 1_000_000_000)
        if number == 1 + learning { risesInLearning = bench.line.rises.count }
        if number > 1 + learning { delays.append(.nanoseconds(sinceDue)) }
      }
      let fixes = client.text.split(separator: "\n").suffix(measured)
      let good = zip(delays, fixes).filter { $0 < .seconds(1) && $1.contains(#""schedule":{"met":true,"#) }
      client.leave()
      #expect(eventually { hub.isOff && !bench.line.isHigh })
      delays.sort()
      #expect(good.count * 20 >= 19 * measured, "\(delays) \(fixes.map { $0.suffix(120) })")
      // One start per fix after the learning phase. The start for the next fix may already have begun.
      let rises = bench.line.rises.count - risesInLearning
      #expect((measured...measured + 1).contains(rises), "\(rises), \(risesInLearning) before")
      #expect(risesInLearning <= 1 + learning)
      // The observer may see the last fall slightly later.
      #expect(eventually { bench.line.falls.count == bench.line.rises.count })
      let highTime = zip(bench.line.rises, bench.line.falls).map { $1 - $0 }.reduce(.zero, +)
      Bench.saw(
        "\(good.count) of \(measured) fixes good and in time, \(Bench.milliseconds(delays[measured / 2])) late (median, "
          + "latest \(Bench.milliseconds(delays[measured - 1]))); \(bench.line.rises.count) rises, high for "
          + "\(Bench.milliseconds(highTime / bench.line.rises.count)) of each \(rate) s")
      #expect(hub.stop() == 0)
    }
  }
}
