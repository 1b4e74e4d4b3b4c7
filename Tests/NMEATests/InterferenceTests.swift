import NMEA
import TestSupport
import Testing
import UBX

/// Reports of receivers about their errors and about interference appear in the epochs that follow.
struct InterferenceTests {
  /// Returns the epochs of reads that are a second apart.
  private func epochs(_ reads: [[UInt8]]) -> (fixes: [GNSSFix], satellites: [[Satellite]], unknown: Int) {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var found: (fixes: [GNSSFix], satellites: [[Satellite]], unknown: Int) = ([], [], 0)
    for (second, read) in reads.enumerated() {
      read.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(second) * 1_000_000_000) { frame in
          let outcome =
            switch frame {
            case .sentence(let raw):
              assembler.consume(raw) {
                found.fixes.append($0.fix)
                found.satellites.append($0.sky.satellites)
              }
            case .message(let message):
              assembler.consume(message) {
                found.fixes.append($0.fix)
                found.satellites.append($0.sky.satellites)
              }
            }
          if case .unknown = outcome { found.unknown += 1 }
        }
      }
    }
    assembler.finish {
      found.fixes.append($0.fix)
      found.satellites.append($0.sky.satellites)
    }
    return found
  }

  private static let timeOfWeek: UInt32 = (86_400 + 43_200 + 18) * 1000

  private func solution(_ second: UInt8) -> [UInt8] {
    MadeMessage.navPVT(
      timeOfWeekMilliseconds: InterferenceTests.timeOfWeek + UInt32(second) * 1000, latitudeDegrees: 52,
      longitudeDegrees: 13, second: second)
  }

  private func radio(_ states: [UInt8], indicator: UInt8) -> [UInt8] {
    var payload: [UInt8] = [0, UInt8(states.count), 0, 0]
    for (band, state) in states.enumerated() {
      var block = [UInt8](repeating: 0, count: 24)
      (block[0], block[1], block[16]) = (UInt8(band), state, band == 0 ? indicator : 0)
      payload += block
    }
    return MadeMessage.ubx(UBXKind.monRF, payload)
  }

  private func status(spoofing: UInt8) -> [UInt8] {
    var payload = [UInt8](repeating: 0, count: 16)
    payload.replaceSubrange(0..<4, with: MadeMessage.littleEndian(InterferenceTests.timeOfWeek))
    payload[7] = spoofing << 3
    return MadeMessage.ubx(UBXKind.navSTATUS, payload)
  }

  @Test func `the worst band counts, and a report that is no longer repeated expires`() {
    let quiet = [[UInt8]](repeating: [], count: 31)
    let found = epochs(
      [solution(0), radio([1, 3], indicator: 77) + solution(1), status(spoofing: 2) + solution(2)] + quiet
        + [solution(34), solution(35)])
    #expect(found.unknown == 0)
    #expect(found.fixes.map(\.interference.jamming) == [.critical, .critical, .critical, .unknown, .unknown])
    #expect(found.fixes[1].interference.jammingIndicator == 77)
    #expect(found.fixes[2].interference.spoofing == .indicated && found.fixes[2].interference.isSpoofed)
    #expect(found.fixes[4].interference == Interference())
  }

  @Test func `older receivers report interference in MON-HW, and newer firmware in SEC-SIG`() {
    var hardware = [UInt8](repeating: 0, count: 60)
    (hardware[22], hardware[45]) = (2 << 2 | 1, 12)
    let old = epochs([solution(0), MadeMessage.ubx(UBXKind.monHW, hardware) + solution(1)]).fixes
    #expect(old.last?.interference.jamming == .warning && old.last?.interference.jammingIndicator == 12)

    let first = MadeMessage.ubx(UBXKind.secSIG, [1, 0, 0, 0, 1 | 3 << 1, 0, 0, 0, 1 | 3 << 1, 0, 0, 0])
    let second = MadeMessage.ubx(UBXKind.secSIG, [2, 1 | 2 << 1 | 1 << 3 | 1 << 4, 0, 0])
    let new = epochs([first + radio([1], indicator: 0) + solution(0), second + solution(1), solution(2)]).fixes
    #expect(new.map(\.interference.jamming) == [.warning, .warning, .warning])
    #expect(new.map(\.interference.spoofing) == [.none, .none, .none])
    let alone = epochs([first + radio([1], indicator: 0) + solution(0)]).fixes
    #expect(alone.last?.interference.jamming == .critical && alone.last?.interference.spoofing == .multiple)
  }

  @Test(
    arguments: [
      ("GPTXT,01,01,02,ANTSTATUS=OPEN", .open), ("GNTXT,01,01,02,ANTSTATUS=SHORT", .short),
      ("GNTXT,01,01,02,ANTSTATUS=OK", .good), ("GPTXT,01,01,02,ANTSTATUS=INIT", .unknown),
      ("GPTXT,01,01,02,ANTSTATUS=DONTKNOW", .unknown), ("GPTXT,01,01,01,ANTENNA OPEN", .open),
      ("GPTXT,01,01,02,ANTSUPERV=AC SD PDoS SR", .unknown),
    ] as [(String, AntennaStatus)])
  func `a receiver that states its antenna's status in a text does not repeat it`(
    _ text: String, _ status: AntennaStatus
  ) {
    let quiet = [[UInt8]](repeating: [], count: 31)
    let found = epochs([Array(nmeaLine(text).utf8) + solution(0)] + quiet + [solution(33), solution(34)])
    #expect(found.fixes.map(\.interference.antenna) == [status, status, status] && found.unknown == 0)
  }

  @Test func `a later report of the antenna replaces an earlier one, and the worst band counts`() {
    let open = Array(nmeaLine("GNTXT,01,01,02,ANTSTATUS=OPEN").utf8)
    let good = Array(nmeaLine("GNTXT,01,01,02,ANTSTATUS=OK").utf8)
    var bands: [UInt8] = [0, 2, 0, 0] + [UInt8](repeating: 0, count: 48)
    (bands[6], bands[30]) = (2, 3)
    var hardware = [UInt8](repeating: 0, count: 60)
    hardware[20] = 4
    let reads = [
      solution(0) + open, solution(1) + good, solution(2) + MadeMessage.ubx(UBXKind.monRF, bands),
      solution(3) + MadeMessage.ubx(UBXKind.monHW, hardware),
    ]
    #expect(epochs(reads).fixes.map(\.interference.antenna) == [.open, .good, .short, .open])
  }

  @Test func `a Quectel receiver's estimated errors are the sigmas of the epoch`() throws {
    let gga = nmeaLine("GNGGA,120000.00,4807.0380,N,01131.0000,E,4,12,0.7,400,M,46.9,M,,")
    let found = epochs([Array((gga + nmeaLine("PQTMEPE,2,1.593,1.295,3.759,2.053,4.283")).utf8)])
    let fix = try #require(found.fixes.last)
    #expect(found.fixes.count == 1 && found.unknown == 0)
    #expect(fix.positionSigmas == SIMD3(1.593, 1.295, 3.759) && fix.horizontalErrorMetres == 2.053)
  }

  @Test func `an Airoha receiver reports jamming in a sentence for each band`() {
    let sentences = Array("$PAIRSPF,1*52\r\n$PAIRSPF5,2*64\r\n".utf8)
    let found = epochs([sentences + solution(0)])
    #expect(found.fixes.last?.interference.jamming == .warning && found.unknown == 0)
  }

  @Test func `covariances and the accuracy of the time belong to their epoch`() throws {
    var covariance =
      MadeMessage.littleEndian(InterferenceTests.timeOfWeek) + [0, 1, 1] + [UInt8](repeating: 0, count: 9)
    for value: Float in [4, 0, 0, 9, 0, 16, 0.01, 0, 0, 0.04, 0, 0.25] {
      covariance += MadeMessage.littleEndian(value.bitPattern)
    }
    let pulse = MadeMessage.ubx(
      UBXKind.timTP,
      MadeMessage.littleEndian(InterferenceTests.timeOfWeek) + [0, 0, 0, 0] + MadeMessage.littleEndian(Int32(-4200))
        + [0, 0, 0, 0])
    var payload = Array(solution(0).dropFirst(6).dropLast(2))
    payload.replaceSubrange(12..<16, with: MadeMessage.littleEndian(UInt32(25)))
    let found = epochs([
      pulse + MadeMessage.ubx(UBXKind.navPVT, payload) + MadeMessage.ubx(UBXKind.navCOV, covariance), solution(1),
    ]).fixes
    let fix = try #require(found.first)
    #expect(fix.positionSigmas == SIMD3(2, 3, 4))
    let velocity = try #require(fix.velocitySigmas)
    #expect(abs(velocity.x - 0.1) < 1e-6 && abs(velocity.y - 0.2) < 1e-6 && abs(velocity.z - 0.5) < 1e-6)
    #expect(abs((fix.timeErrorSeconds ?? 0) - 25e-9) < 1e-15)
    #expect(abs((fix.pulseErrorSeconds ?? 0) + 4.2e-9) < 1e-15)
    #expect(found.last?.positionSigmas == nil && found.last?.pulseErrorSeconds == nil)
  }

  @Test func `the receiver's report on its inertial fusion is valid for half a minute`() {
    func fusion(_ mode: UInt8) -> [UInt8] {
      // The message is from a NEO-M8L that uses six sensors.
      var payload: [UInt8] = [0, 0x90, 0x24, 0xA2, 2, 0x40, 2, 0, 0, 0, 0, 0, mode, 0, 0, 6]
      for kind: UInt8 in [0xC5, 0xCD, 0xCE, 0xD0, 0xD1, 0xD2] { payload += [kind, 7, 11, 0] }
      return MadeMessage.ubx(UBXKind.esfSTATUS, payload)
    }
    let found = epochs([
      solution(0), solution(1) + fusion(0), solution(2) + fusion(1), solution(3) + fusion(2), solution(4) + fusion(3),
      solution(5), solution(6) + fusion(9),
    ])
    #expect(
      found.fixes.map(\.receiverFusion)
        == [nil, .initializing, .fusing, .suspended, .disabled, .disabled, .disabled])
    #expect(found.unknown == 1)
    let silent = epochs([solution(1) + fusion(1)] + (2...40).map { solution($0) })
    #expect(silent.fixes.last?.receiverFusion == nil)
  }

  @Test func `CASIC lists its satellites system by system`() throws {
    let run: UInt32 = 285_432_840
    func list(_ kind: UInt16, _ system: UInt8, _ run: UInt32, _ satellites: [(number: UInt8, used: Bool)]) -> [UInt8] {
      var payload = MadeMessage.littleEndian(run) + [UInt8(satellites.count), 0, system, 0]
      for satellite in satellites {
        payload += [1, satellite.number, satellite.used ? 193 : 64, 97, 30, 41, 172, 0, 0, 0, 0, 0]
      }
      return MadeMessage.casic(kind, payload)
    }
    func lists(_ run: UInt32) -> [UInt8] {
      list(CASICKind.navGPSINFO, 0, run, [(1, true), (12, false)]) + list(CASICKind.navBDSINFO, 1, run, [(13, true)])
        + list(CASICKind.navGLNINFO, 2, run, [(2, false)])
    }
    let found = epochs([lists(run), lists(run + 1000)])
    #expect(found.satellites.map(\.count) == [4, 4] && found.unknown == 0)
    let satellites = try #require(found.satellites.first)
    #expect(satellites.map(\.number.system) == [.gps, .gps, .beidou, .glonass])
    #expect(satellites.map(\.isUsed) == [true, false, true, false])
    #expect(satellites[0].signalStrength == 30 && satellites[0].elevationDegrees == 41)
  }
}
