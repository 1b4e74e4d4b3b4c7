import TestSupport
import Testing
import UBX

/// Commands for u-blox receivers, byte for byte as pyubx2 1.4.0 makes them, and answers of real receivers.
struct UBXCommandTests {
  /// A message by this project, the same message by pyubx2 in hexadecimal, and the pyubx2 call that made it.
  struct Made: Sendable, CustomTestStringConvertible {
    let message: UBXMessage
    let hex: String
    let call: String

    var testDescription: String { call }
  }

  private static let solution: [UBXSetting] = UBXOutput.solution(version: 2700).compactMap { output in
    UBXPort.uart1.rate(of: output).map { UBXSetting($0, 1) }
  }
  private static let sentences: [UBXSetting] = UBXOutput.sentences.compactMap { output in
    UBXPort.usb.rate(of: output).map { UBXSetting($0, 1) }
  }

  static let made: [Made] = [
    Made(message: UBXVersion.request, hex: "b5620a0400000e34", call: #"UBXMessage("MON", "MON-VER", POLL)"#),
    Made(message: UBXUniqueID.request, hex: "b562270300002aa5", call: #"UBXMessage("SEC", "SEC-UNIQID", POLL)"#),
    Made(
      message: .rate(milliseconds: 200, timeReference: 1), hex: "b56206080600c80001000100de6a",
      call: #"UBXMessage("CFG", "CFG-RATE", SET, measRate=200, navRate=1, timeRef=1)"#),
    Made(
      message: .rate(of: .navPVT, 1), hex: "b562060103000107011351",
      call: #"UBXMessage("CFG", "CFG-MSG", SET, payload=bytes([1, 7, 1]))"#),
    Made(
      message: .dynamicModel(4),
      hex: "b562062424000100040000000000000000000000000000000000000000000000000000000000000000005370",
      call: #"UBXMessage("CFG", "CFG-NAV5", SET, dyn=1, dynModel=4)"#),
    Made(
      message: .lowPowerMode(1), hex: "b5620611020000011a82", call: #"UBXMessage("CFG", "CFG-RXM", SET, lpMode=1)"#),
    Made(
      message: .powerSetup(3), hex: "b562068608000003000000000000976f",
      call: #"UBXMessage("CFG", "CFG-PMS", SET, version=0, powerSetupValue=3)"#),
    Made(
      message: .save, hex: "b56206090d00000000001f1f0000000000000761cf",
      call: ##"UBXMessage("CFG", "CFG-CFG", SET, saveMask=b"\x1f\x1f\x00\x00", devBBR=1, devFlash=1, devEEPROM=1)"##),
    Made(
      message: .reset(.stop), hex: "b56206040400000008001674",
      call: #"UBXMessage("CFG", "CFG-RST", SET, resetMode=8)"#),
    Made(
      message: .reset(.start), hex: "b56206040400000009001776",
      call: #"UBXMessage("CFG", "CFG-RST", SET, resetMode=9)"#),
    Made(
      message: .restart(.hot), hex: "b56206040400000002001068",
      call: #"UBXMessage("CFG", "CFG-RST", SET, resetMode=2)"#),
    Made(
      message: .restart(.warm), hex: "b5620604040001000200116c",
      call: #"UBXMessage("CFG", "CFG-RST", SET, eph=1, resetMode=2)"#),
    Made(
      message: .restart(.cold), hex: "b56206040400ffff01000d5f",
      call: ##"UBXMessage("CFG", "CFG-RST", SET, payload=b"\xff\xff\x01\x00")"##),
    Made(
      message: .backup(milliseconds: 1_036_800_000), hex: "b562024108000050cc3d02000000a664",
      call: #"UBXMessage("RXM", "RXM-PMREQ", SET, payload=(1036800000).to_bytes(4, "little") + bytes([2, 0, 0, 0]))"#),
    Made(
      message: .forcedBackup(milliseconds: 1_036_800_000), hex: "b56202411000000000000050cc3d0600000008000000baf8",
      call: #"UBXMessage("RXM", "RXM-PMREQ", SET, duration=1036800000, backup=1, version=0, force=1, uartrx=1)"#),
    Made(
      message: .set(
        [UBXSetting(.measurementMilliseconds, 200), UBXSetting(.dynamicModel, 4), UBXSetting(.uart1BaudRate, 115_200)],
        in: .ram),
      hex: "b562068a17000001000001002130c80021001120040100524000c201006e3f",
      call: #"config_set(1, 0, [("CFG_RATE_MEAS", 200), ("CFG_NAVSPG_DYNMODEL", 4), ("CFG_UART1_BAUDRATE", 115200)])"#),
    Made(
      message: .set(
        [
          UBXSetting(.gps, true), UBXSetting(.galileo, true), UBXSetting(.glonass, false), UBXSetting(.beidou, false),
          UBXSetting(.qzss, false), UBXSetting(.sbas, false),
        ], in: .ram),
      hex: "b562068a2200000100001f003110012100311001250031100022003110002400311000200031100006f0",
      call: #"config_set(1, 0, [("CFG_SIGNAL_GPS_ENA", 1), GAL 1, GLO 0, BDS 0, QZSS 0, SBAS 0])"#),
    Made(
      message: .set([UBXSetting(UBXPort.uart1.sendsUBX, true)] + solution, in: .ram),
      hex: "b562068a2c0000010000010074100107009120011b009120013900912001840091200116009120015a039120016001912001d4d8",
      call: #"config_set(1, 0, UART1OUTPROT_UBX and the MSGOUTs of UART1: PVT, STATUS, DOP, COV, SAT, RF, EOE)"#),
    Made(
      message: .set([UBXSetting(UBXPort.usb.sendsNMEA, true)] + sentences, in: .ram),
      hex: "b562068a2200000100000200781001bd00912001c200912001c700912001ae00912001d60091200182ad",
      call: #"config_set(1, 0, USBOUTPROT_NMEA and the MSGOUTs of USB: GGA, GSA, GSV, RMC, GST)"#),
    Made(
      message: .time(
        year: 2026, month: 11, day: 24, hour: 6, minute: 30, second: 15, nanosecond: 250_000_000,
        accuracyNanoseconds: 1_500_000_000),
      hex: "b5621340180010000080ea070b18061e0f0080b2e60e010000000065cd1db871",
      call:
        "MGA-INI-TIME-UTC as pyubx2 parses and serializes it: leapSecs -128, 2026-11-24 06:30:15, tAccS 1, tAccNs 5e8"),
    Made(
      message: .place(
        latitudeDegrees: 48.0123456, longitudeDegrees: -11.2345678, altitudeMetres: 512.34, accuracyMetres: 40),
      hex: "b5621340140001000000401a9e1cb2bd4df922c80000a00f0000ca59",
      call:
        "MGA-INI-POS-LLH as pyubx2 parses and serializes it: lat 48.0123456, lon -11.2345678, alt 51234, posAcc 4000"),
    Made(message: .databaseRequest, hex: "b5621380000093cc", call: #"UBXMessage("MGA", "MGA-DBD", POLL)"#),
    Made(
      message: .shutdownBackup(.create), hex: "b562091404000000000021ec",
      call: #"UBXMessage("UPD", "UPD-SOS", SET, cmd=0)"#),
    Made(
      message: .shutdownBackup(.clear), hex: "b562091404000100000022f0",
      call: #"UBXMessage("UPD", "UPD-SOS", SET, cmd=1)"#),
    Made(message: .shutdownBackupRequest, hex: "b562091400001d60", call: #"UBXMessage("UPD", "UPD-SOS", POLL)"#),
    Made(
      message: .acknowledgesAiding(version: 2),
      hex: "b56206232800020000040000000000000000000000000001000000000000000000000000000000000000000000005874",
      call: #"UBXMessage("CFG", "CFG-NAVX5", SET, version=2, ackAid=1, ackAiding=1)"#),
    Made(
      message: .get([.operateMode, .measurementMilliseconds]), hex: "b562068b0c00000000000100d02001002130e02b",
      call: #"config_poll(0, 0, ["CFG_PM_OPERATEMODE", "CFG_RATE_MEAS"])"#),
  ]

  @Test(arguments: made) func `each command has the same bytes as pyubx2's`(_ made: Made) {
    #expect(made.message.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == made.hex)
  }

  @Test func `a port keeps its settings except for the changed ones`() throws {
    let found: [UInt8] = [1, 0, 0, 0, 0xC0, 8, 0, 0, 0x80, 0x25, 0, 0, 0x23, 0, 3, 0, 0, 0, 0, 0]
    var port = try #require(UBXPortConfiguration(payload: found))
    #expect(port.isUART && port.baudRate == 9600 && port.sendsNMEA)
    port.baudRate = 115_200
    port.sendsNMEA = false
    // UBXMessage("CFG", "CFG-PRT", SET, portID=1, charLen=3, parity=4, baudRate=115200, inUBX=1, inNMEA=1, inRTCM3=1, outUBX=1)
    #expect(
      port.message.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        == "b5620600140001000000c008000000c201002300010000000000ca52")
  }

  /// The contents of a log, in both directions.
  private struct Exchange {
    var accepted = 0
    var refused = 0
    var versions: [UBXVersion] = []
    var values: [[UBXSetting]] = []
    /// The number of answers to CFG-VALGET that were not understood.
    var strange = 0
    var questions = 0
    var systems: [UBXConstellations] = []
    var ports = 0
  }

  private func read(_ log: String) -> Exchange {
    var framer = BinaryFramer()
    var exchange = Exchange()
    let bytes = SharedData.read("\(SharedData.folder ?? "")/ubx/messages/\(log)")
    bytes.withUnsafeBufferPointer { bytes in
      framer.push(bytes, readAt: 0) { piece in
        guard case .message(let message) = piece else { return }
        let payload = message.payloadCopy
        if let acknowledgement = UBXAcknowledgement(message) {
          if acknowledgement.isAccepted { exchange.accepted += 1 } else { exchange.refused += 1 }
        } else if message.kind == UBXKind.monVER, let version = UBXVersion(payload: payload) {
          exchange.versions.append(version)
        } else if message.kind == UBXCommandKind.cfgVALGET {
          if let values = [UBXSetting](valuesOf: payload) {
            exchange.values.append(values)
          } else if payload.first == 0 {
            exchange.questions += 1
          } else {
            exchange.strange += 1
          }
        } else if message.kind == UBXCommandKind.cfgGNSS, let systems = UBXConstellations(payload: payload) {
          exchange.systems.append(systems)
        } else if message.kind == UBXCommandKind.cfgPRT, UBXPortConfiguration(payload: payload) != nil {
          exchange.ports += 1
        }
      }
    }
    return exchange
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `the dialogue with a ZED-F9P is understood`() throws {
    let exchange = read("ucenter-ZEDF9P-configdebug.log")
    #expect((exchange.accepted, exchange.refused) == (44, 14))
    #expect(exchange.values.count == 24 && exchange.questions == 24 && exchange.strange == 0)
    let version = try #require(exchange.versions.first)
    #expect(version.model == "ZED-F9P" && version.protocolVersion == 2731 && version.hardware == "00190000")
    #expect(exchange.versions.count == 4)
    // Every receiver has this key, and pyubx2 reads this value.
    #expect(exchange.values.joined().contains(UBXSetting(.measurementMilliseconds, 1000)))
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"))
  func `the answers of a receiver of the eighth generation are understood`()
    throws
  {
    let exchange = read("pygpsdata-CFG.log")
    let systems = try #require(exchange.systems.first)
    #expect(systems.known == [.gps, .sbas, .galileo, .beidou, .qzss, .glonass])
    #expect(systems.enabled == systems.known)
    #expect(exchange.ports == 1)
  }

  @Test func `the receiver's unique number has five bytes or six`() {
    #expect(UBXUniqueID(payload: [1, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59])?.text == "CFFB03D259")
    #expect(UBXUniqueID(payload: [2, 0, 0, 0, 0xCF, 0xFB, 0x03, 0xD2, 0x59, 0x2C])?.text == "CFFB03D2592C")
    for strange: [UInt8] in [[], [1, 0, 0, 0], [3, 0, 0, 0, 1, 2, 3, 4, 5], [2, 0, 0, 0, 1, 2, 3, 4, 5]] {
      #expect(UBXUniqueID(payload: strange) == nil)
    }
  }

  @Test(
    arguments: [
      ("00040007", [], 1300), ("00070000", ["PROTVER 14.00"], 1400),
      ("00080000", ["FWVER=SPG 3.01", "PROTVER=18.00"], 1800),
      ("00080000", [], 1500), ("000A0000", ["FWVER=SPG 5.10", "PROTVER=34.10"], 3410),
      ("00190000", ["PROTVER=x"], 2700),
    ] as [(String, [String], Int)])
  func `each generation states its protocol version in its own form`(
    _ hardware: String, _ extensions: [String], _ version: Int
  )
    throws
  {
    func text(_ text: String, _ count: Int) -> [UInt8] {
      Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
    }
    let payload = text("ROM", 30) + text(hardware, 10) + extensions.flatMap { text($0, 30) }
    #expect(try #require(UBXVersion(payload: payload)).protocolVersion == version)
    #expect(UBXVersion(payload: Array(payload.prefix(39))) == nil)
  }
}
