import NMEA
import TestSupport
import Testing

/// Epochs of receivers with a binary protocol, alone or together with sentences.
struct BinaryEpochTests {
  /// The epochs of a live receiver whose reads come one after another, a millisecond apart.
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
      // The time is noon on a Monday in GPS time, which is 18 s ahead of UTC.
      timeOfWeekMilliseconds: (86_400 + 43_200 + 18 + UInt32(second)) * 1000,
      latitudeDegrees: 52 + Double(second) / 1e4,
      longitudeDegrees: -13.25, second: second)
  }

  private func end(_ second: UInt8) -> [UInt8] {
    MadeMessage.ubx(0x0161, MadeMessage.littleEndian((86_400 + 43_200 + 18 + UInt32(second)) * 1000))
  }

  @Test func `a solution states position, velocity and errors`() throws {
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
  func `a solution with corrections states their effect and their greatest age`(
    _ flags: UInt8, _ age: UInt8, _ status: FixStatus, _ seconds: Double?
  ) throws {
    var payload = Array(solution(5).dropFirst(6).dropLast(2))
    payload[21] = flags
    payload[78] = age << 1 | 1
    let fix = try #require(epochs([MadeMessage.ubx(0x0107, payload)]).first)
    #expect(fix.status == status && fix.differentialAgeSeconds == seconds)
  }

  @Test func `a solution outside the receiver's limits is not a fix`() throws {
    var payload = Array(solution(5).dropFirst(6).dropLast(2))
    payload[21] = 0
    let fix = try #require(epochs([MadeMessage.ubx(0x0107, payload)]).first)
    #expect(fix.mode == .noFix && fix.position == nil)
  }

  @Test func `a stated end of an epoch reports the epoch, even the first one`() {
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

  @Test func `a solution older than an inertial solution does not reopen the epoch`() {
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

  // MARK: Validity flags

  private func changed(_ message: [UInt8], _ changes: [(Int, UInt8)]) -> [UInt8] {
    var payload = Array(message.dropFirst(6).dropLast(2))
    for (offset, value) in changes { payload[offset] = value }
    return MadeMessage.ubx(0x0107, payload)
  }

  @Test func `a solution with coordinates marked as invalid has no position`() throws {
    let fix = try #require(epochs([changed(solution(5), [(78, 1)])]).first)
    #expect(fix.mode == .noFix && fix.position == nil && fix.time != nil)
    // Before protocol 15 these bytes have another meaning.
    let short = Array(changed(solution(5), [(78, 1)]).dropFirst(6).prefix(84))
    let old = try #require(epochs([MadeMessage.ubx(0x0107, short)]).first)
    #expect(old.mode == .threeDimensional && old.position != nil)
  }

  @Test(
    arguments: [
      (0, .noFix, .unknown), (1, .twoDimensional, .deadReckoning), (2, .twoDimensional, .gnss),
      (3, .threeDimensional, .gnss), (4, .threeDimensional, .gnss), (5, .threeDimensional, .surveyed),
      (6, .noFix, .unknown),
    ] as [(UInt8, FixMode, FixStatus)])
  func `the kind of fix states the known dimensions and the source of the fix`(
    _ type: UInt8, _ mode: FixMode, _ status: FixStatus
  ) throws {
    let fix = try #require(epochs([changed(solution(5), [(20, type)])]).first)
    #expect(fix.mode == mode && fix.status == status)
  }

  @Test(arguments: [(7, true), (3, true), (1, false), (2, false), (0, false)] as [(UInt8, Bool)])
  func `a time counts only if its date and its time of day are valid`(_ validity: UInt8, _ isKnown: Bool) throws {
    let fix = try #require(epochs([changed(solution(5), [(11, validity)])]).first)
    #expect((fix.time != nil) == isKnown)
  }

  /// The messages NAV-STATUS, POSLLH, DOP and TIMEUTC of a timing receiver with a surveyed position.
  private static let surveyed = bytes(
    "b5620103100000e1f50505dd0008fc3a000078e00100683eb56201021c0000e1f505c0c2da0660e6a61cac09090078520800b80b0000a00f0000"
      + "6677b5620104120000e1f5059600820064006e0050003c0032009a36b5620121140000e1f5051400000000000000ea070601032e2837ad10"
  )

  private static func bytes(_ digits: String) -> [UInt8] {
    let characters = Array(digits)
    return stride(from: 0, to: characters.count, by: 2).map {
      UInt8(String(characters[$0...$0 + 1]), radix: 16) ?? 0
    }
  }

  @Test func `a timing receiver has its surveyed position and the time`() throws {
    let fix = try #require(epochs([BinaryEpochTests.surveyed]).last)
    #expect(fix.mode == .threeDimensional && fix.status == .surveyed)
    #expect(abs((fix.position?.latitudeDegrees ?? 0) - 48.0700000) < 1e-6, "\(fix)")
    #expect(fix.altitudeMSLMetres == 545.4 && fix.hdop != nil)
    #expect(fix.time?.components.date == CalendarDate(year: 2026, month: 6, day: 1))
    // The position may come before the message that states its kind.
    let messages = BinaryEpochTests.surveyed
    let status = Array(messages.prefix(24))
    let position = Array(messages.dropFirst(24).prefix(36))
    let rest = Array(messages.dropFirst(60))
    let other = try #require(epochs([position, status, rest]).last)
    #expect(other.mode == .threeDimensional && other.position == fix.position)
  }

  @Test(
    arguments: [
      (0x00, 0x00, .gnss), (0x02, 0x40, .rtkFloat), (0x02, 0x80, .rtkFixed), (0x00, 0x40, .gnss), (0x01, 0x80, .gnss),
      (0x03, 0x80, .rtkFixed),
    ] as [(UInt8, UInt8, FixStatus)])
  func `the carrier state in NAV-STATUS counts only if it is marked as valid`(
    _ fixStat: UInt8, _ flags: UInt8, _ expected: FixStatus
  ) throws {
    let time = MadeMessage.littleEndian((86_400 + 43_200 + 18 + UInt32(5)) * 1000)
    let zeros = [UInt8](repeating: 0, count: 8)
    let status = MadeMessage.ubx(0x0103, time + [3, 1, fixStat, flags] + zeros)
    let fix = try #require(epochs([status]).last)
    #expect(fix.mode == .threeDimensional && fix.status == expected)
  }

  @Test func `NAV-STATUS next to a solution does not change the fix`() throws {
    let time = MadeMessage.littleEndian((86_400 + 43_200 + 18 + UInt32(5)) * 1000)
    let status = MadeMessage.ubx(0x0103, time + [3, 1] + [UInt8](repeating: 0, count: 10))
    let none = changed(solution(5), [(20, 0), (21, 0)])
    #expect(epochs([none, status, end(5)]).map(\.mode) == [.noFix])
  }

  @Test(
    arguments: [
      (0, 5, 5, .gps, 5), (0, 33, nil, nil, nil), (1, 133, 46, .sbas, 133), (1, 152, 152, .sbas, 152),
      (1, 119, nil, nil, nil), (2, 36, 336, .galileo, 36), (2, 37, nil, nil, nil), (3, 46, 446, .beidou, 46),
      (4, 1, 173, .imes, 1), (4, 11, nil, nil, nil), (5, 3, 195, .qzss, 3), (6, 24, 88, .glonass, 24),
      (6, 255, nil, nil, nil), (7, 9, 509, .navic, 9), (8, 1, nil, nil, nil),
    ] as [(UInt8, UInt8, UInt16?, SatelliteSystem?, UInt8?)])
  func `satellites are numbered inside each system`(
    _ system: UInt8, _ number: UInt8, _ extended: UInt16?, _ expected: SatelliteSystem?, _ vehicle: UInt8?
  ) {
    let time = MadeMessage.littleEndian((86_400 + 43_200 + 18 + UInt32(5)) * 1000)
    // A GPS satellite is added so that the list is never empty.
    let entries: [UInt8] = [0, 1, 40, 30, 200, 0, 0, 0, 15, 0, 0, 0, system, number, 30, 20, 200, 0, 0, 0, 7, 0, 0, 0]
    let list = MadeMessage.ubx(0x0135, time + [1, 2, 0, 0] + entries)
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var satellites: [Satellite] = []
    (solution(5) + list).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { frame in
        if case .message(let message) = frame { assembler.consume(message) { satellites = $0.sky.satellites } }
      }
    }
    assembler.finish { satellites = $0.sky.satellites }
    let found = satellites.count > 1 ? satellites[1].number : nil
    #expect(found?.extended == extended && found?.system == expected && found?.vehicle == vehicle)
  }
}
