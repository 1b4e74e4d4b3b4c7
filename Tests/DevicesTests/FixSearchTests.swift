import Devices
import MonotonicTime
import TestSupport
import Testing

/// The reason why a receiver has no fix, from bytes of real receivers.
struct FixSearchTests {
  private struct Line: ~Copyable {
    var search: FixSearch
    private var decoder = ReceiverDecoder()
    private var epochs = 0
    private var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    init(reportInterval: Duration = .seconds(1)) {
      search = FixSearch(reportInterval: reportInterval)
      search.opened(at: now)
    }

    /// Feeds the same bytes at the beginning of each second.
    mutating func hear(_ bytes: [UInt8], seconds: Int) {
      for _ in 0..<seconds {
        now = now + .seconds(1)
        bytes.withUnsafeBufferPointer { bytes in
          decoder.take(bytes, readAt: now, receive: { search.take($0) })
        }
        if !bytes.isEmpty { search.read(decoder.counters, at: now) }
      }
    }

    mutating func hear(_ text: String, seconds: Int) { hear(Array(text.utf8), seconds: seconds) }

    /// Feeds an epoch each second with satellites of the given strengths.
    mutating func see(_ strengths: [Int], seconds: Int) {
      for _ in 0..<seconds {
        epochs += 1
        hear(FixSearchTests.epoch(strengths, epochs), seconds: 1)
      }
    }

    /// Closes and reopens the line.
    mutating func tryAgain() {
      decoder = ReceiverDecoder()
      search.opened(at: now)
    }

    var finding: FixSearch.Finding? { search.finding(at: now, isSpeedFixed: false) }
    var findingAtOneSpeed: FixSearch.Finding? { search.finding(at: now, isSpeedFixed: true) }
  }

  /// An epoch without a position, as receivers send it, with satellites of the given strengths.
  fileprivate static func epoch(_ strengths: [Int], _ second: Int) -> String {
    let time = "1210\(second % 60 < 10 ? "0" : "")\(second % 60).00"
    let groups = stride(from: 0, to: max(strengths.count, 1), by: 4)
    let count = strengths.count
    let lists = groups.enumerated().map { index, first in
      let satellites = strengths.dropFirst(first).prefix(4).enumerated().map { offset, strength in
        let number = first + offset + 1
        return ",\(number < 10 ? "0" : "")\(number),40,083,\(strength == 0 ? "" : "\(strength)")"
      }
      return nmeaLine("GPGSV,\((count + 3) / 4),\(index + 1),\(count)\(satellites.joined())")
    }
    return nmeaLine("GPRMC,\(time),V,,,,,,,211126,,,N") + nmeaLine("GPGGA,\(time),,,,,0,00,99.99,,,,,,")
      + nmeaLine("GPGSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99") + lists.joined()
  }

  @Test func `a line that was just opened gives the finding 'starting'`() {
    var line = Line()
    line.hear("", seconds: 3)
    #expect(line.finding == .starting)
  }

  @Test func `there is no finding before the line is opened`() {
    #expect(FixSearch().finding(at: MonotonicInstant(nanoseconds: 5), isSpeedFixed: true) == nil)
  }

  @Test func `the duration of a silent line continues over retries`() {
    var line = Line()
    line.hear("", seconds: 12)
    line.tryAgain()
    line.hear("", seconds: 8)
    #expect(line.finding == .silent(.seconds(20)))
    #expect(line.finding?.summary(on: "/dev/ttyUSB0") == "nothing received on /dev/ttyUSB0 for 20 s")
    #expect(line.finding?.nextStep(on: "/dev/ttyUSB0", isSpeedFixed: false)?.contains("TX") == true)
    // A receiver on the network has no wires.
    #expect(line.finding?.nextStep(on: "tcp://192.0.2.7:10110", isSpeedFixed: false)?.contains("TX") == false)
  }

  @Test func `the silence of a line counts from its last byte`() {
    var line = Line()
    line.see([40, 41, 42, 43], seconds: 20)
    line.hear("", seconds: 7)
    #expect(line.finding == .silent(.seconds(7)))
  }

  @Test func `a receiver that reports every five seconds is not silent between two reports`() {
    var line = Line(reportInterval: .seconds(5))
    for _ in 0..<4 {
      line.see([40, 41, 42, 43], seconds: 1)
      line.hear("", seconds: 4)
      #expect(line.finding == .starting || line.finding == .loading(4, strongest: 43))
    }
    // A report may be late.
    line.hear("", seconds: 3)
    #expect(line.finding == .loading(4, strongest: 43))
    line.hear("", seconds: 1)
    #expect(line.finding == .silent(.seconds(8)))
  }

  @Test func `while the hub listens longer at each speed, it takes longer to suspect that no speed is right`() {
    var line = Line(reportInterval: .seconds(5))
    line.hear([0x00, 0x78, 0x80, 0xF8, 0x00, 0x80], seconds: 59)
    #expect(line.finding == .starting)
    line.hear([0x00, 0x78, 0x80, 0xF8, 0x00, 0x80], seconds: 1)
    #expect(line.finding == .noSentences(.seconds(60)))
  }

  /// The bytes are from a receiver at 9600 baud heard at 115200, and from a program that prints text.
  @Test(
    arguments: [
      [0x00, 0x78, 0x80, 0xF8, 0x00, 0x80, 0x78, 0xF8, 0xFE, 0x1C, 0x00, 0xE0, 0x80, 0x78, 0x00, 0xF8, 0x06, 0x18],
      Array("Linux raspberrypi login:".utf8),
    ] as [[UInt8]])
  func `bytes without sentences mean a wrong speed or another device`(_ bytes: [UInt8]) {
    var line = Line()
    line.hear(bytes, seconds: 6)
    // The hub has not yet tried the other speeds.
    #expect(line.finding == .starting && line.findingAtOneSpeed == .noSentences(.seconds(6)))
    line.tryAgain()
    line.hear(bytes, seconds: 9)
    #expect(line.finding == .noSentences(.seconds(15)))
    #expect(
      line.finding?.summary(on: "/dev/ttyS0")
        == "bytes but no sentences on /dev/ttyS0: wrong speed, or not a receiver")
  }

  @Test func `a mistake in the board file's speed is suggested only if the hub uses no other speed`() {
    let finding = FixSearch.Finding.noSentences(.seconds(15))
    #expect(
      finding.nextStep(on: "/dev/ttyS0", isSpeedFixed: true)?.hasPrefix("leave 'speed' out of the board file") == true)
    let other = finding.nextStep(on: "/dev/ttyS0", isSpeedFixed: false)
    #expect(other == "the hub tries all usual speeds; check what is connected: sensorhub probe")
  }

  @Test func `a spike on an open line does not count as data`() {
    var line = Line()
    line.hear([0xFF], seconds: 1)
    line.hear("", seconds: 30)
    #expect(line.finding == .silent(.seconds(30)))
  }

  @Test func `sentences without a list of satellites give the finding 'noList'`() {
    var line = Line()
    line.hear(nmeaLine("GPRMC,,V,,,,,,,,,,N"), seconds: 20)
    #expect(line.finding == .noList)
  }

  @Test func `an empty list or a list without strengths points to the antenna`() {
    for strengths in [[], [0, 0, 0, 0, 0]] {
      var line = Line()
      line.see(strengths, seconds: 20)
      #expect(line.finding == (strengths.isEmpty ? .noList : .noSatellites), "\(strengths)")
    }
  }

  @Test func `no one is sent to the antenna of a simulated receiver`() {
    let findings: [FixSearch.Finding] = [
      .noList, .noSatellites, .openAntenna, .shortedAntenna, .fewSatellites(2, strongest: 18),
      .weakSignals(6, strongest: 22),
    ]
    for finding in findings {
      let step = finding.nextStep(on: "simulated/gps", isSpeedFixed: false)
      #expect(step?.hasPrefix("wait: the receiver is simulated") == true, "\(finding)")
      let real = finding.nextStep(on: "/dev/ttyAMA0", isSpeedFixed: false)
      #expect(real?.contains("antenna") == true, "\(finding)")
    }
    // A simulated line can still be silent.
    let silent = FixSearch.Finding.silent(.seconds(10)).nextStep(on: "simulated/gps", isSpeedFixed: false)
    #expect(silent?.contains("power") == true)
  }

  @Test(
    arguments: [
      ("ANTSTATUS=OPEN", .openAntenna, "the receiver reports that its antenna is open"),
      ("ANTSTATUS=SHORT", .shortedAntenna, "the receiver reports a short circuit in its antenna"),
    ] as [(String, FixSearch.Finding, String)])
  func `a receiver without satellites that reports a fault of its antenna is believed`(
    _ text: String, _ finding: FixSearch.Finding, _ summary: String
  ) {
    for strengths in [[], [0, 0, 0, 0, 0]] {
      var line = Line()
      line.hear(nmeaLine("GPTXT,01,01,02,\(text)"), seconds: 1)
      line.see(strengths, seconds: 20)
      #expect(line.finding == finding && finding.summary(on: "x") == summary, "\(strengths)")
      #expect(finding.nextStep(on: "x", isSpeedFixed: false)?.hasPrefix("check the antenna's plug and cable") == true)
      // A passive antenna also counts as open.
      line.see([12, 18], seconds: 3)
      #expect(line.finding == .fewSatellites(2, strongest: 18))
      line.hear(nmeaLine("GPTXT,01,01,02,ANTSTATUS=OK"), seconds: 1)
      line.see(strengths, seconds: 30)
      #expect(line.finding == (strengths.isEmpty ? .noList : .noSatellites))
    }
  }

  @Test func `one weak satellite points to the antenna`() {
    var line = Line()
    line.see([12, 0, 0], seconds: 20)
    #expect(line.finding == .fewSatellites(1, strongest: 12))
    #expect(line.finding?.summary(on: "x") == "1 satellite in view (12 dB): a position needs 4")
  }

  @Test func `many weak satellites point to the antenna`() {
    var line = Line()
    line.see([12, 18, 24, 20, 22, 31], seconds: 20)
    #expect(line.finding == .weakSignals(6, strongest: 31))
  }

  @Test func `strong satellites without a fix mean that the receiver reads their orbits`() {
    var line = Line()
    line.see([32, 38, 44, 40, 42, 31], seconds: 20)
    #expect(line.finding == .loading(6, strongest: 44))
    #expect(line.finding?.summary(on: "x") == "reception is good (6 satellites, up to 44 dB): orbit data is loading")
  }

  @Test func `all findings have different texts`() {
    let all: [FixSearch.Finding] = [
      .starting, .silent(.seconds(9)), .noSentences(.seconds(9)), .noList, .noSatellites, .openAntenna,
      .shortedAntenna, .fewSatellites(2, strongest: 20), .weakSignals(7, strongest: 20), .loading(8, strongest: 40),
    ]
    #expect(Set(all.map { $0.summary(on: "/dev/ttyS0") }).count == all.count)
  }
}
