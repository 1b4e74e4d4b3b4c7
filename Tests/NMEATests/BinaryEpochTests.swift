import NMEA
import TestSupport
import Testing

/// Epochs of receivers that speak a binary protocol, alone or beside sentences.
struct BinaryEpochTests {
  /// What a live receiver gives of reads that come one after another, a millisecond apart.
  private func epochs(_ reads: [[UInt8]]) -> [GNSSFix] {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .learned)
    var fixes: [GNSSFix] = []
    for (index, read) in reads.enumerated() {
      read.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(index) * 1_000_000) { frame in
          switch frame {
          case .sentence(let raw): assembler.consume(raw) { fixes.append($0.fix) }
          case .message(let message): assembler.consume(message) { fixes.append($0.fix) }
          }
        }
      }
    }
    assembler.finish { fixes.append($0.fix) }
    return fixes
  }

  private func solution(_ second: UInt8) -> [UInt8] {
    MadeMessage.navPVT(
      // A Monday's noon by GPS, with the 18 s that UTC is behind.
      timeOfWeekMilliseconds: (86_400 + 43_200 + 18 + UInt32(second)) * 1000,
      latitudeDegrees: 52 + Double(second) / 1e4,
      longitudeDegrees: -13.25, second: second)
  }

  private func end(_ second: UInt8) -> [UInt8] {
    MadeMessage.ubx(0x0161, MadeMessage.littleEndian((86_400 + 43_200 + 18 + UInt32(second)) * 1000))
  }

  @Test func `a solution says all that there is of position, velocity and errors`() throws {
    let fix = try #require(epochs([solution(5)]).first)
    #expect(fix.mode == .threeDimensional && fix.status == .gnss)
    #expect(fix.time?.nanosecondsSince1970 == 1_795_435_205_000_000_000)
    #expect(abs((fix.position?.latitudeDegrees ?? 0) - 52.0005) < 1e-9)
    #expect(fix.position?.longitudeDegrees == -13.25)
    #expect(fix.altitudeHAEMetres == 80 && fix.altitudeMSLMetres == 40)
    #expect(
      fix.velocity
        == Velocity(northMetresPerSecond: 3, eastMetresPerSecond: 4, downMetresPerSecond: -0.5))
    #expect(fix.speedMetresPerSecond == 5 && fix.climbMetresPerSecond == 0.5)
    #expect(abs((fix.trackDegrees ?? 0) - 53.1301) < 1e-9)
    #expect(fix.horizontalErrorMetres == 1.5 && fix.verticalErrorMetres == 2.5)
    #expect(fix.speedErrorMetresPerSecond == 0.12 && fix.pdop == 1.5 && fix.satellitesUsed == 11)
  }

  @Test(arguments: [(0x43, 0, FixStatus.rtkFloat, nil), (0x83, 3, .rtkFixed, 5), (0x03, 15, .differential, 120)])
  func `a solution with corrections says what they make of it, and how old they are at most`(
    _ flags: UInt8, _ age: UInt8, _ status: FixStatus, _ seconds: Double?
  ) throws {
    var payload = Array(solution(5).dropFirst(6).dropLast(2))
    payload[21] = flags
    payload[78] = age << 1 | 1
    let fix = try #require(epochs([MadeMessage.ubx(0x0107, payload)]).first)
    #expect(fix.status == status && fix.differentialAgeSeconds == seconds)
  }

  @Test func `a solution that the receiver does not vouch for is no fix`() throws {
    var payload = Array(solution(5).dropFirst(6).dropLast(2))
    payload[21] = 0
    let fix = try #require(epochs([MadeMessage.ubx(0x0107, payload)]).first)
    #expect(fix.mode == .noFix && fix.position == nil)
  }

  @Test func `the receiver's own end of an epoch reports it, the first one too`() {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .learned)
    var count = 0
    for second: UInt8 in 0..<3 {
      for part in [solution(second), end(second)] {
        part.withUnsafeBufferPointer { bytes in
          framer.push(bytes) { frame in
            if case .message(let message) = frame { assembler.consume(message) { _ in count += 1 } }
          }
        }
      }
      #expect(count == Int(second) + 1)
    }
  }

  @Test func `sentences of the same instant belong to the same epoch`() {
    let sentences = Array(
      ("$GNZDA,120001.00,23,11,2026,00,00*7D\r\n"
        + "$GNGSA,A,3,01,02,03,04,05,,,,,,,,1.60,0.77,1.40*1F\r\n").utf8)
    let fixes = epochs([solution(0), end(0), solution(1), sentences, end(1), solution(2), end(2)])
    #expect(fixes.count == 3)
    #expect(fixes.map(\.hdop) == [nil, 0.77, nil])
    let times: [Int64?] = [1_795_435_200_000_000_000, 1_795_435_201_000_000_000, 1_795_435_202_000_000_000]
    #expect(fixes.map { $0.time?.nanosecondsSince1970 } == times)
  }

  @Test func `a solution that is older than one by inertial sensors does not take the epoch back`() {
    func quick(_ tenths: UInt32) -> [UInt8] {
      var payload = [UInt8](repeating: 0, count: 72)
      let time = MadeMessage.littleEndian((86_400 + 43_200 + 18) * 1000 + tenths * 100)
      payload.replaceSubrange(0..<4, with: time)
      payload.replaceSubrange(4..<6, with: MadeMessage.littleEndian(UInt16(2026)))
      for (index, value) in [11, 23, 12, 0, UInt8(tenths / 10), 7].enumerated() { payload[6 + index] = value }
      payload.replaceSubrange(12..<16, with: MadeMessage.littleEndian(Int32(tenths % 10) * 100_000_000))
      payload[16] = 3
      return MadeMessage.ubx(0x2800, payload)
    }
    let fixes = epochs([quick(10), quick(11), quick(12), solution(1), end(1), quick(13), quick(14)])
    #expect(fixes.map { ($0.time?.nanosecondsSince1970 ?? 0) % 60_000_000_000 / 100_000_000 } == [10, 11, 12, 13, 14])
  }
}
