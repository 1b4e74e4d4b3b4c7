import TestSupport
import Testing

@testable import NMEA

/// In every protocol, values outside a receiver's possible range are left out, and real values are not.
struct StatedRangeTests {
  private static let place = "4807.0380,N,01131.0000,E"

  private struct Read {
    var fix: GNSSFix
    var statistics: GST?
    var refused: RefusedValues
  }

  /// The values of the last epoch.
  private func read(_ frames: [[UInt8]]) throws -> Read {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var (fix, statistics): (GNSSFix?, GST?)
    func take(_ epoch: borrowing GNSSEpoch) { (fix, statistics) = (epoch.fix, epoch.errorStatistics?.statistics) }
    frames.flatMap(\.self).withUnsafeBufferPointer { bytes in
      framer.push(bytes, readAt: 0) { frame in
        switch frame {
        case .sentence(let raw): assembler.consume(raw) { take($0) }
        case .message(let message): assembler.consume(message) { take($0) }
        }
      }
    }
    assembler.finish { take($0) }
    return Read(fix: try #require(fix), statistics: statistics, refused: assembler.refused)
  }

  private func read(_ sentences: String...) throws -> Read { try read(sentences.map { Array(nmeaLine($0).utf8) }) }

  private func gga(_ height: String, separation: String = "46.9") -> String {
    "GPGGA,120000.00,\(Self.place),1,08,0.9,\(height),M,\(separation),M,,"
  }

  // MARK: Sentences

  @Test(arguments: ["999999999999999999", "-12000.1", "3000000.1", "-999999999999999999.9"])
  func `an impossible height leaves a fix of two dimensions`(_ height: String) throws {
    let read = try read(gga(height))
    #expect(read.fix.mode == .twoDimensional && read.fix.position != nil)
    #expect(read.fix.altitudeMSLMetres == nil && read.fix.altitudeHAEMetres == nil)
    #expect(read.refused.count == 1 && read.refused.quantities == .heights)
    // A GSA does not restore the third dimension either.
    let other = try self.read(gga(height), "GPGSA,A,3,01,02,03,04,,,,,,,,,1.6,0.9,1.3")
    #expect(other.fix.mode == .twoDimensional)
  }

  @Test(arguments: ["-430", "-10935", "8849", "38000", "400000", "2000000"])
  func `every height from the deepest sea to a satellite is possible`(_ height: String) throws {
    let read = try read(gga(height))
    #expect(read.fix.mode == .threeDimensional && read.fix.altitudeMSLMetres == Double(height))
    #expect(read.refused.count == 0)
  }

  @Test func `an impossible geoid separation is replaced by the model's`() throws {
    let read = try read(gga("545.4", separation: "4690"))
    #expect(read.fix.altitudeMSLMetres == 545.4 && read.refused.quantities == .heights)
    #expect(abs((read.fix.geoidSeparationMetres ?? 0) - 46.5) < 2)
    #expect(abs((read.fix.altitudeHAEMetres ?? 0) - 592) < 2)
  }

  @Test(arguments: [("999999999", false), ("-1", false), ("23400", false), ("15500", true), ("0", true)])
  func `a speed is at most the speed of a satellite`(_ knots: String, _ isSpeed: Bool) throws {
    let read = try read("GPRMC,120000.00,A,\(Self.place),\(knots),84.4,010626,,,A")
    #expect((read.fix.speedMetresPerSecond != nil) == isSpeed && read.fix.mode == .twoDimensional)
    #expect(read.refused.quantities == (isSpeed ? [] : .speeds))
  }

  @Test func `two positions that cannot follow each other give no impossible speed`() throws {
    func gga(_ time: String, _ place: String) -> String { "GPGGA,\(time),\(place),1,08,0.9,545.4,M,46.9,M,," }
    let date = "GPZDA,120000.00,01,06,2026,00,00"
    let jump = try read(
      date, gga("120000.00", "4807.0380,N,01131.0000,E"), gga("120001.00", "4807.0380,S,01131.0000,E"))
    #expect(jump.fix.speedMetresPerSecond == nil && jump.fix.position != nil)
    let step = try read(
      date, gga("120000.00", "4807.0380,N,01131.0000,E"), gga("120001.00", "4807.0390,N,01131.0000,E"))
    #expect(abs((step.fix.speedMetresPerSecond ?? 0) - 1.85) < 0.01)
  }

  @Test func `a position with an impossible error is ignored, whichever sentence states the error`() throws {
    let rmc = "GPRMC,120000.00,A,\(Self.place),3.5,84.4,010626,,,A"
    for sentence in [
      "GPGST,120000.00,1.0,1.0,1.0,0.0,1.0,-1.0,2.0", "GPGST,120000.00,1.0,1.0,1.0,0.0,99999999999,1.0,2.0",
      "GPGBS,120000.00,-5.0,1.0,2.0,,,,", "PGRME,99999999999,M,1.0,M,1.0,M",
    ] {
      let read = try read(rmc, sentence)
      #expect(read.fix.position == nil && read.fix.mode == .noFix && read.fix.status == .unknown, "\(sentence)")
      #expect(read.refused.quantities == .horizontalErrors && read.refused.count == 1, "\(sentence)")
    }
    // A stated error that means "not known" gives the position correspondingly little weight.
    let read = try read(rmc, "GPGST,120000.00,1.0,1.0,1.0,0.0,3750000.0,3750000.0,3750000.0")
    #expect(read.fix.position != nil && read.statistics?.latitudeSigmaMetres == 3_750_000)
  }

  @Test func `an impossible error removes the height or the speed that it belongs to`() throws {
    let pubx =
      "PUBX,00,120000.00,\(Self.place),545.4,G3,2.5,99999999999,5.0,84.4,0.1,,0.9,1.3,1.2,8,0,0"
    let read = try read(pubx)
    #expect(read.fix.altitudeHAEMetres == nil && read.fix.mode == .twoDimensional && read.fix.position != nil)
    #expect(read.refused.quantities == .verticalErrors)
    let speed = try self.read(
      "GPRMC,120000.00,A,\(Self.place),3.5,84.4,010626,,,A", "PSRFEPE,120000.00,A,0.9,2.5,3.5,99999999999,2.0")
    #expect(speed.fix.speedMetresPerSecond == nil && speed.fix.position != nil)
    #expect(speed.refused.quantities == .speedErrors)
  }

  @Test func `dilutions that stand for unknown are unknown, in every sentence`() throws {
    let gns = try read("GNGNS,120000.00,\(Self.place),AA,20,99.99,545.4,46.9,,")
    #expect(gns.fix.hdop == nil && gns.fix.mode == .threeDimensional && gns.refused.count == 0)
    let pubx = try read("PUBX,00,120000.00,\(Self.place),545.4,G3,2.5,3.5,5.0,84.4,0.1,,99.99,99.99,99.99,8,0,0")
    #expect(pubx.fix.hdop == nil && pubx.fix.vdop == nil && pubx.fix.mode == .threeDimensional)
  }

  @Test func `depths, temperatures, ages and attitudes have ranges`() throws {
    let rmc = "GPRMC,120000.00,A,\(Self.place),3.5,84.4,010626,,,A"
    let read = try read(
      rmc, "SDDPT,999999.0,0.0", "YXMTW,4000.0,C", "HEXDR,A,720.0,D,PITCH",
      "GPGGA,120000.00,\(Self.place),2,08,0.9,545.4,M,46.9,M,999999999,0001")
    #expect(read.fix.depthMetres == nil && read.fix.waterTemperatureCelsius == nil)
    #expect(read.fix.differentialAgeSeconds == nil && read.fix.altitudeMSLMetres == 545.4)
    #expect(read.refused.quantities == [.depths, .temperatures, .attitudes, .correctionAges])
    #expect(read.refused.quantities.names == "ages of corrections, depths, temperatures, attitudes")
  }

  // MARK: Messages

  private func pvt(_ changes: [(offset: Int, value: Int32)]) -> [UInt8] {
    let made = MadeMessage.navPVT(
      timeOfWeekMilliseconds: 129_618_000, latitudeDegrees: 52.5, longitudeDegrees: 13.4, second: 0)
    var payload = Array(made.dropFirst(6).dropLast(2))
    for (offset, value) in changes {
      payload.replaceSubrange(offset..<offset + 4, with: MadeMessage.littleEndian(value))
    }
    return MadeMessage.ubx(0x0107, payload)
  }

  @Test func `the values of u-blox messages have the same ranges`() throws {
    let height = try read([pvt([(32, .min), (36, .min)])])
    #expect(height.fix.altitudeHAEMetres == nil && height.fix.mode == .twoDimensional)
    #expect(height.refused.quantities == .heights && height.fix.speedMetresPerSecond == 5)
    let speed = try read([pvt([(48, .max), (60, .max)])])
    #expect(speed.fix.velocity == nil && speed.fix.speedMetresPerSecond == nil && speed.fix.mode == .threeDimensional)
    #expect(speed.refused.quantities == .speeds && speed.refused.count == 1)
    let place = try read([pvt([(28, 900_000_001)])])
    #expect(place.fix.position == nil && place.fix.mode == .noFix && place.refused.quantities == .positions)
    // The greatest possible number means "not known".
    let unknown = try read([pvt([(40, -1), (44, -1), (68, -1)])])
    #expect(abs((unknown.fix.horizontalErrorMetres ?? 0) - 4_294_967.295) < 1e-3)
    #expect(unknown.fix.mode == .threeDimensional)
    #expect(unknown.refused.count == 0)
  }

  private func casic(
    _ changes: [(offset: Int, value: Float)], latitudeDegrees: Double = 52.5, velocityValidity: UInt8 = 7
  ) -> [UInt8] {
    var payload = [UInt8](repeating: 0, count: 80)
    func put(_ value: Float, at offset: Int) {
      payload.replaceSubrange(offset..<offset + 4, with: MadeMessage.littleEndian(value.bitPattern))
    }
    (payload[4], payload[5], payload[7]) = (7, velocityValidity, 9)
    payload.replaceSubrange(16..<24, with: MadeMessage.littleEndian(13.4.bitPattern))
    payload.replaceSubrange(24..<32, with: MadeMessage.littleEndian(latitudeDegrees.bitPattern))
    for (offset, value) in [(12, 1.5), (32, 80), (36, 40), (40, 4), (44, 9), (64, 5), (68, 45), (72, 0.04)]
      as [(Int, Float)]
    {
      put(value, at: offset)
    }
    for (offset, value) in changes { put(value, at: offset) }
    return MadeMessage.casic(0x0103, payload)
  }

  @Test func `the values of CASIC messages have the same ranges, and may be NaN`() throws {
    let right = try read([casic([])])
    #expect(right.fix.mode == .threeDimensional && right.fix.altitudeHAEMetres == 80 && right.refused.count == 0)
    for height in [1e18, .nan, .infinity, -1e5] as [Float] {
      let read = try read([casic([(32, height)])])
      #expect(read.fix.altitudeHAEMetres == nil && read.fix.mode == .twoDimensional, "\(height)")
      #expect(read.refused.quantities == .heights, "\(height)")
    }
    for variance in [.nan, -1, 1e30] as [Float] {
      let read = try read([casic([(40, variance)])])
      #expect(read.fix.position == nil && read.fix.mode == .noFix, "\(variance)")
      #expect(read.refused.quantities == .horizontalErrors, "\(variance)")
    }
    let speed = try read([casic([(48, 1e18), (64, .nan), (68, .nan)])])
    #expect(speed.fix.velocity == nil && speed.fix.speedMetresPerSecond == nil && speed.fix.trackDegrees == nil)
    #expect(speed.refused.quantities == [.speeds, .courses] && speed.fix.position != nil)
    let place = try read([casic([], latitudeDegrees: .nan)])
    #expect(place.fix.position == nil && place.fix.mode == .noFix && place.refused.quantities == .positions)
  }

  @Test(arguments: [(0, false), (1, false), (2, false), (3, false), (4, true), (6, true), (8, true), (9, false)])
  func `a velocity that a CASIC receiver has not computed is unknown, and the position stays`(
    _ validity: UInt8, _ isTaken: Bool
  ) throws {
    let fix = try read([casic([], velocityValidity: validity)]).fix
    #expect(fix.mode == .threeDimensional && fix.position != nil)
    #expect((fix.velocity != nil) == isTaken && (fix.speedMetresPerSecond != nil) == isTaken)
    #expect((fix.trackDegrees != nil) == isTaken)
  }
}
