import HardwareIO
import MonotonicTime
import NMEA
import Simulation
import TestSupport
import Testing

@testable import Devices

/// Third-party parsers accept all bytes that the drivers send.
@Suite(.timeLimit(.minutes(10)))
struct SpokenBytesTests {
  /// A port that keeps the written bytes.
  private struct HeardPort: SerialPort {
    let port: any SerialPort
    let written = Recorder<[UInt8]>()

    var name: String { port.name }
    var fileDescriptor: Int32 { port.fileDescriptor }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int { try port.read(into: buffer) }
    func write(_ bytes: [UInt8]) throws(HardwareError) {
      written.append(bytes)
      try port.write(bytes)
    }

    func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
      written.append(Array(bytes))
      return try port.writeNow(bytes)
    }

    var unsentCount: Int { port.unsentCount }
    func setSpeed(_ speed: BaudRate) throws(HardwareError) { try port.setSpeed(speed) }
    func close() { port.close() }
  }

  private static func settings(_ change: (inout ReceiverSettings) -> Void) -> ReceiverSettings {
    var settings = ReceiverSettings()
    change(&settings)
    return settings
  }

  /// All settings, each in every form in which drivers send it.
  private static let variants = [
    settings {
      $0.rateHz = 5
      $0.constellations = [.gps, .galileo, .sbas]
      $0.dynamicModel = .automotive
      $0.powerMode = .full
      $0.messages = .ubx
      $0.reportsCorrections = true
      $0.restores = true
    },
    settings {
      $0.rateHz = 0.5
      // No receiver uses more settings at once.
      $0.constellations = [.gps, .glonass, .beidou, .galileo]
      $0.dynamicModel = .sea
      $0.powerMode = .saving
      $0.messages = .nmea
      $0.restores = true
    },
    settings {
      $0.constellations = [.gps, .glonass, .qzss]
      $0.powerMode = .balanced
      $0.speed = .b57600
      $0.saves = true
    },
    settings { $0.constellations = [.gps, .beidou] },
  ]

  private static func driver(_ personality: ReceiverPersonality) -> ReceiverDriver {
    switch personality {
    case .ublox6, .ublox7, .ublox8, .ublox9, .ublox10: .ublox
    case .mediatek: .mediatek
    case .airoha: .airoha
    case .quectel: .quectel
    case .casic: .casic
    case .unicore: .unicore
    }
  }

  /// Returns all bytes that a driver sends to a receiver: at the start, for each setting, and to put it to sleep.
  private func said(to personality: ReceiverPersonality) throws -> [[UInt8]] {
    let receiver = Simulation.CommandedReceiver(personality, world: World(start: MonotonicClock().now))
    receiver.setPower(true)
    let speed = try #require(BaudRate(rawValue: personality.factorySpeed))
    let port = HeardPort(port: try receiver.open(speed: speed))
    let serial = SerialReceiver(port: port, poller: Poller(stop: -1))
    let channel = CommandChannel(serial, speed: speed, receive: { _ in })
    let driver = SpokenBytesTests.driver(personality)
    var known = try #require(try driver.identify(channel, tries: 20))
    let saysWho = [.ublox8, .ublox9, .ublox10, .quectel, .unicore].contains(personality)
    // On a busy machine the simulated receiver may take longer than a real one.
    for _ in 0..<20 where known.identity.uniqueID == nil {
      try known.askForUniqueID(channel)
      if !saysWho { break }
    }
    #expect((known.identity.uniqueID != nil) == saysWho)
    for settings in SpokenBytesTests.variants {
      var report = SettingReport()
      try known.configure(settings, channel, &report)
      try known.restore(channel)
    }
    for (mayStop, hasBackup) in [(true, false), (false, true)] {
      _ = try known.keepKnowledge(channel, mayStop: mayStop, hasBackup: hasBackup)
    }
    let time = KnownTime(
      utc: UTCTime(nanosecondsSince1970: 1_790_000_000_250_000_000), at: channel.now, sigma: .milliseconds(1500))
    let place = ReceiverKnowledge.Position(
      latitudeDegrees: -48.0123456, longitudeDegrees: 11.2345678, altitudeHAEMetres: 512.34, sigmaMetres: 40)
    for given in [
      GivenKnowledge(time: time, place: place, database: [[UInt8](repeating: 7, count: 96)]),
      GivenKnowledge(time: time, place: nil, isInFlash: true), GivenKnowledge(time: nil, place: place),
    ] { _ = try known.giveBack(given, channel) }
    for restart in [ReceiverRestart.hot, .warm, .cold] { try known.restart(restart, channel) }
    for sleep in driver.sleeps(isSwitched: true) {
      try known.sleep(sleep, channel)
      if let call = known.wakingBytes(from: sleep) { try channel.say(call) }
      let first = driver.wakingBytes(from: sleep)
      if !first.isEmpty { try channel.say(first) }
    }
    receiver.hangUp()
    return port.written.values
  }

  @Test(arguments: [ReceiverDriver.mediatek, .airoha])
  func `no bytes are sent to wake a receiver from backup, which only its supply ends`(_ driver: ReceiverDriver) {
    #expect(!driver.wakingBytes(from: .standby).isEmpty)
    #expect(driver.wakingBytes(from: .backup).isEmpty)
  }

  private func check(_ messages: [[UInt8]]) -> Program {
    let words = messages.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    return Python.program([SharedData.packageFolder + "/Tests/DevicesTests/spoken.py"] + words)
  }

  @Test(arguments: ReceiverPersonality.allCases)
  func `pyubx2 and pynmeagps understand all bytes for each receiver`(_ personality: ReceiverPersonality) throws {
    let messages = try said(to: personality)
    let program = check(messages)
    #expect(program.wait() == 0, "\(program.standardError)")
    let kinds = program.standardOutput.split(whereSeparator: \.isWhitespace).map(String.init)
    let expected: Set<String> =
      switch personality {
      case .ublox6:
        ["MON-VER", "CFG-PRT", "CFG-MSG", "CFG-RATE", "CFG-NAV5", "CFG-RXM", "CFG-CFG", "CFG-RST", "RXM-PMREQ"]
      case .ublox7: ["CFG-PRT", "CFG-MSG", "CFG-GNSS", "CFG-RATE", "CFG-NAV5", "CFG-RXM", "CFG-RST", "RXM-PMREQ"]
      case .ublox8:
        [
          "CFG-PRT", "CFG-MSG", "CFG-GNSS", "CFG-RATE", "CFG-NAV5", "CFG-PMS", "CFG-RST", "RXM-PMREQ", "UPD-SOS",
          "MGA-DBD",
          "CFG-NAVX5", "MGA-INI-TIME-UTC", "MGA-INI-POS-LLH", "SEC-UNIQID",
        ]
      case .ublox9, .ublox10:
        [
          "MON-VER", "CFG-VALSET", "CFG-VALGET", "CFG-RST", "RXM-PMREQ", "MGA-DBD", "MGA-INI-TIME-UTC",
          "MGA-INI-POS-LLH", "SEC-UNIQID",
        ]
      case .mediatek:
        [
          "PMTK605", "PMTK353", "PMTK313", "PMTK352", "PMTK225", "PMTK220", "PMTK251", "PMTK101", "PMTK102", "PMTK103",
          "PMTK161", "PMTK740", "PMTK741",
        ]
      case .airoha:
        [
          "PAIR021", "PAIR002", "PAIR066", "PAIR410", "PAIR080", "PAIR050", "PAIR864", "PAIR004", "PAIR005", "PAIR006",
          "PAIR003", "PAIR650",
        ]
      case .quectel:
        [
          "PQTMVERNO", "PQTMUNIQID", "PQTMCFGUART", "PQTMCFGMSGRATE", "PQTMCFGCNST", "PQTMCFGNAVMODE", "PQTMCFGFIXRATE",
          "PQTMSAVEPAR", "PQTMSRR", "PQTMHOT", "PQTMWARM", "PQTMCOLD",
        ]
      case .unicore:
        [
          "VERSIONA", "UNLOG", "GPGGA", "GPRMC", "GPGSA", "GPGST", "GPGSV", "UNIHEADINGA", "MASK", "UNMASK", "CONFIG",
          "MODE", "SAVECONFIG", "RESET",
        ]
      case .casic: ["PCAS06", "PCAS01", "PCAS10", "PCAS12", "CASIC-06-04", "CASIC-06-05", "CASIC-06-07", "CASIC-0B-01"]
      }
    #expect(expected.isSubset(of: kinds), "\(kinds)")
  }

  @Test(
    arguments: [
      // A rate of two fields, an unknown command, a message one byte short, an unknown key.
      Array(nmeaLine("PAIR050,200,1").utf8), Array(nmeaLine("PMTK999,1").utf8),
      MadeMessage.ubx(0x0608, [200, 0, 1, 0, 1]), MadeMessage.ubx(0x068A, [0, 1, 0, 0, 0xFF, 0xFF, 0xFF, 0x20, 1]),
      Array("$PMTK605*00\r\n".utf8), [0xFE],
      // Unicore's commands: an unknown one, a rate that no receiver has, a missing line end, and a wrong checksum.
      Array("PURGE\r\n".utf8), Array("GPGGA 0.25\r\n".utf8), Array("UNLOG".utf8), Array("$UNLOG*00\r\n".utf8),
    ])
  func `a wrong command is refused`(_ message: [UInt8]) { #expect(check([message]).wait() != 0) }
}
