import NMEA
import TestSupport
import Testing

/// Satellites with signals that a receiver lists separately (NAV-SIG), with or without a list of the satellites
/// (NAV-SAT).
struct SignalListTests {
  private static let timeOfWeek = MadeMessage.littleEndian(UInt32(129_623_000))

  private func skies(_ messages: [[UInt8]]) -> [[Satellite]] {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var skies: [[Satellite]] = []
    for (index, message) in messages.enumerated() {
      message.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(index) * 1_000_000) { frame in
          switch frame {
          case .sentence(let raw): assembler.consume(raw) { skies.append($0.sky.satellites) }
          case .message(let message): assembler.consume(message) { skies.append($0.sky.satellites) }
          }
        }
      }
    }
    assembler.finish { skies.append($0.sky.satellites) }
    return skies
  }

  private var solution: [UInt8] {
    MadeMessage.navPVT(
      timeOfWeekMilliseconds: 129_623_000, latitudeDegrees: 52, longitudeDegrees: -13.25, second: 5)
  }

  private func list(_ kind: UInt16, version: UInt8, _ entries: [[UInt8]]) -> [UInt8] {
    MadeMessage.ubx(
      kind, SignalListTests.timeOfWeek + [version, UInt8(entries.count), 0, 0] + entries.flatMap { $0 })
  }

  /// The satellites by system, number, strength, elevation, azimuth and flags.
  private var satellites: [UInt8] {
    list(
      0x0135, version: 1,
      [
        [0, 4, 49, 47, 169, 0, 0, 0, 0x1F, 0x19, 0, 0], [2, 7, 46, 18, 186, 0, 0, 0, 0x1F, 0x19, 0, 0],
        // The satellite is in view but not received.
        [2, 32, 0, 51, 94, 0, 0, 0, 0x20, 0x12, 0, 0],
      ])
  }

  /// The signals by system, number, signal, frequency, residual, strength, quality, corrections, model and flags.
  private func signals(_ version: UInt8 = 0) -> [UInt8] {
    func signal(_ system: UInt8, _ number: UInt8, _ signal: UInt8, _ strength: UInt8, _ flags: UInt8) -> [UInt8] {
      [system, number, signal, 0, 0, 0, strength, 7, 0, 1, flags, 0, 0, 0, 0, 0]
    }
    return list(
      0x0143, version: version,
      [
        // The three signals are used by range, used only by Doppler, and unused.
        signal(0, 4, 0, 49, 0x09), signal(0, 4, 3, 43, 0x21), signal(0, 4, 7, 38, 0x02), signal(2, 7, 0, 46, 0x29),
        signal(2, 7, 4, 35, 0x01),
      ])
  }

  private struct Row: Equatable {
    var number: UInt8
    var signal: UInt8
    var elevation: Int8
    var azimuth: UInt16
    var strength: UInt8
    var isUsed: Bool

    init(_ number: UInt8, _ signal: UInt8, _ elevation: Int8, _ azimuth: UInt16, _ strength: UInt8, _ isUsed: Bool) {
      (self.number, self.signal, self.elevation) = (number, signal, elevation)
      (self.azimuth, self.strength, self.isUsed) = (azimuth, strength, isUsed)
    }

    init(_ satellite: Satellite) {
      self.init(
        UInt8(satellite.number.vehicle), satellite.signal, satellite.elevationDegrees, satellite.azimuthDegrees,
        satellite.signalStrength, satellite.isUsed)
    }
  }

  private let together = [
    Row(4, 0, 47, 169, 49, true), Row(4, 3, 47, 169, 43, true), Row(4, 7, 47, 169, 38, false),
    Row(7, 0, 18, 186, 46, true), Row(7, 4, 18, 186, 35, false), Row(32, 0, 51, 94, 0, false),
  ]

  @Test func `sentences that list a satellite once per signal give one entry each`() throws {
    // The sentences are as from Unicore's UM980.
    let sentences = [
      "GPRMC,120000.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A",
      "GPGSV,2,1,05,04,47,169,49,04,47,169,43,04,47,169,38,09,62,105,45",
      "GPGSV,2,2,05,09,62,105,41",
    ]
    let sky = try #require(skies(sentences.map { Array(nmeaLine($0).utf8) }).last)
    #expect(
      sky.map(Row.init) == [
        Row(4, 0, 47, 169, 49, false), Row(4, 0, 47, 169, 43, false), Row(4, 0, 47, 169, 38, false),
        Row(9, 0, 62, 105, 45, false), Row(9, 0, 62, 105, 41, false),
      ])
  }

  @Test func `signals have the direction of their satellites, whichever list comes first`() throws {
    for messages in [[solution, satellites, signals()], [solution, signals(), satellites]] {
      let skies = skies(messages)
      #expect(skies.count == 1)
      #expect(try #require(skies.first).map(Row.init) == together)
    }
  }

  @Test func `repeated lists give the same result as one list`() throws {
    for messages in [
      [solution, satellites, signals(), satellites], [solution, satellites, signals(), signals()],
      [solution, signals(), satellites, signals(), satellites],
    ] {
      #expect(try #require(skies(messages).last).map(Row.init) == together)
    }
  }

  @Test func `without a list of satellites, the directions of signals are unknown`() throws {
    let sky = try #require(skies([solution, signals()]).first).map(Row.init)
    #expect(sky == together.dropLast().map { Row($0.number, $0.signal, 0, 0, $0.strength, $0.isUsed) })
  }

  @Test func `a list of satellites without signals stays unchanged`() throws {
    let sky = try #require(skies([solution, satellites]).first).map(Row.init)
    #expect(sky == [Row(4, 0, 47, 169, 49, true), Row(7, 0, 18, 186, 46, true), Row(32, 0, 51, 94, 0, false)])
  }

  @Test func `a list of signals in an unknown version is ignored`() throws {
    let sky = try #require(skies([solution, satellites, signals(9)]).first)
    #expect(sky.count == 3)
  }

  @Test func `the maximum number of signals in a message is listed`() throws {
    var entries: [[UInt8]] = []
    for system: UInt8 in [0, 2, 3] {
      for index: UInt8 in 0..<85 {
        var entry = [UInt8](repeating: 0, count: 16)
        (entry[0], entry[1], entry[2], entry[6]) = (system, index % 17 + 1, index / 17, 40)
        entries.append(entry)
      }
    }
    let sky = try #require(skies([solution, list(0x0143, version: 0, entries)]).first)
    #expect(sky.count == 255)
  }

  @Test func `a direction out of range is unknown, and not clamped`() throws {
    // The elevation, and the azimuth in two bytes: 45 and 400, 91 and 100, -91 and 100, 45 and -1, -5 and 360.
    let directions: [[UInt8]] = [[45, 0x90, 1], [91, 100, 0], [0xA5, 100, 0], [45, 0xFF, 0xFF], [0xFB, 0x68, 1]]
    var (satellites, channels): ([[UInt8]], [[UInt8]]) = ([], [])
    for (index, direction) in directions.enumerated() {
      let number = UInt8(index + 1)
      satellites.append([0, number, 40] + direction + [0, 0, 8, 0, 0, 0])
      channels.append([0, number, 1, 7, 40] + direction + [0, 0, 0, 0])
    }
    // NAV-SVINFO has the count where NAV-SAT has its version.
    let lists = [
      [solution, list(0x0135, version: 1, satellites)], [solution, list(0x0130, version: 5, channels)],
      [MadeMessage.casic(0x0120, SignalListTests.timeOfWeek + [5, 0, 0, 0] + channels.flatMap { $0 })],
    ]
    for messages in lists {
      let sky = try #require(skies(messages).first).map(Row.init)
      #expect(sky == (1...4).map { Row($0, 0, 0, 0, 40, true) } + [Row(5, 0, -5, 360, 40, true)])
    }
  }
}
