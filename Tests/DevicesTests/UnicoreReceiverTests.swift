import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import TestSupport
import Testing

/// Unicore's receivers take lines of words, and repeat each in the answer. The answers here are as in published
/// dialogues with receivers, with their own checksums.
@Suite(.timeLimit(.minutes(10)))
struct UnicoreReceiverTests {
  /// The answer of a UM982, from the maker's reference book.
  private static let um982 =
    "#VERSIONA,79,GPS,FINE,2326,378237000,15434,0,18,889;\"UM982\",\"R4.10Build15434\",\"HRPT00-S10C-P\","
    + "\"2310415000012-LR23A2225208904\",\"ff2740966a10124c\",\"2024/08/08\"*769fd54f\r\n"
  /// The answer of a UM980, from RTKBase's unicore_cmd.py.
  private static let um980 =
    "#VERSIONA,97,GPS,FINE,2343,48235000,0,0,18,813;\"UM980\",\"R4.10Build11833\",\"HRPT00-S10C-P\","
    + "\"2310415000001-MD22A2225022497\",\"ff3ba396dcb0478d\",\"2023/11/24\"*270a13f7\r\n"

  /// An answer to a command. The checksum includes the dollar sign.
  private static func answer(_ command: String, _ result: String = "OK") -> String {
    checked("$command,\(command),response: \(result)")
  }

  private static func checked(_ body: String) -> String {
    let digits = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "\(body)*\(digits.count == 1 ? "0" : "")\(digits)\r\n"
  }

  private static func line(_ request: [UInt8]) -> String {
    String(decoding: request, as: UTF8.self).split(whereSeparator: \.isNewline).joined()
  }

  /// A receiver at the port COM2.
  private static func react(
    _ request: [UInt8], _ version: String = um982, refusing refused: String? = nil
  ) -> ScriptedReceiver.Reaction {
    let command = line(request)
    guard !command.hasPrefix("$") else { return .silence }
    if command == refused {
      return .says(Array(answer(command, "PARSING FAILD NO MATCHING FUNC  \(command)").utf8))
    }
    let sendsVersion = command == "VERSIONA" || command == "VERSIONA COM2"
    let says = Array((answer(command) + (sendsVersion ? version : "")).utf8)
    return command == "CONFIG COM2 57600" ? .goesTo(57600, saying: says) : .says(says)
  }

  private func settings(_ change: (inout ReceiverSettings) -> Void) -> ReceiverSettings {
    var settings = ReceiverSettings()
    change(&settings)
    return settings
  }

  /// Returns the receiver's requests, the warning and the identity in a visit with these settings.
  private func visit(
    _ receiver: ScriptedReceiver, _ settings: ReceiverSettings, driver: ReceiverDriver = .unicore
  ) async throws -> (requests: [String], warning: String?, identity: ReceiverIdentity?) {
    let rig = SessionRig(ReceiverConfiguration(driver: driver, speed: .b115200, settings: settings), receiver)
    try rig.start()
    await rig.started.first(1)
    let result = (receiver.requests.values.map(Self.line), rig.warnings.values.last ?? nil, rig.identities.values.last)
    await rig.finish()
    receiver.end()
    return (result.0, result.1, result.2 ?? nil)
  }

  @Test func `the checksums of published answers include the dollar sign`() {
    #expect(Self.answer("unlog") == "$command,unlog,response: OK*21\r\n")
    #expect(Self.answer("VERSIONA") == "$command,VERSIONA,response: OK*45\r\n")
    #expect(Self.answer("GNRMC 1") == "$command,GNRMC 1,response: OK*1A\r\n")
  }

  @Test func `a receiver with two antennas reports sentences and its heading at the rate`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { Self.react($0) }
    let (requests, warning, identity) = try await visit(
      receiver,
      settings {
        $0.messages = .nmea
        $0.rateHz = 5
        $0.constellations = [.gps, .galileo, .sbas]
        $0.dynamicModel = .automotive
        $0.saves = true
      })
    #expect(warning == nil)
    #expect(
      requests == [
        "VERSIONA", "UNMASK GPS", "MASK GLO", "UNMASK GAL", "MASK BDS", "MASK QZSS", "CONFIG SBAS ENABLE AUTO",
        "MODE ROVER AUTOMOTIVE", "UNLOG", "GPGGA 0.2", "GPRMC 0.2", "GPGSA 0.2", "GPGST 0.2", "UNIHEADINGA 0.2",
        "GPGSV 1", "SAVECONFIG",
      ])
    #expect(identity?.driver == .unicore && identity?.software == "R4.10Build15434" && identity?.hardware == "UM982")
    #expect(identity?.uniqueID == "ff2740966a10124c")
  }

  @Test func `a receiver with one antenna reports no heading, and saves nothing unless requested`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { Self.react($0, Self.um980) }
    let (requests, warning, _) = try await visit(receiver, settings { $0.rateHz = 1 })
    #expect(warning == nil)
    #expect(requests == ["VERSIONA", "GPGGA 1", "GPRMC 1", "GPGSA 1", "GPGST 1", "GPGSV 1"])
  }

  @Test func `the speed is set at the port that the version arrives at`() async throws {
    let receiver = ScriptedReceiver(speed: 115_200, takesLines: true) { Self.react($0) }
    let (requests, warning, _) = try await visit(receiver, settings { $0.speed = .b57600 })
    #expect(warning == nil)
    #expect(requests.prefix(4) == ["VERSIONA", "VERSIONA COM1", "VERSIONA COM2", "CONFIG COM2 57600"])
    #expect(requests.dropFirst(4).allSatisfy { $0 == "VERSIONA" } && requests.count > 4)
  }

  @Test func `a refused command is reported with its setting`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { Self.react($0, refusing: "MASK BDS") }
    let (_, warning, _) = try await visit(receiver, settings { $0.constellations = [.gps, .glonass, .galileo] })
    #expect(warning?.contains("Unicore UM982 R4.10Build15434: it refused constellations") == true, "\(warning ?? "")")
  }

  @Test func `a receiver that refuses a sentence is not left silent, and saves nothing`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { request in
      let command = Self.line(request)
      guard command == "GPGGA 0.05" else { return Self.react(request, Self.um980) }
      // Some receivers state the refused command only at the end.
      return .says(Array(Self.checked("$command,response: PARSING FAILD NO MATCHING FUNC GPGGA 0.05").utf8))
    }
    let (requests, warning, _) = try await visit(
      receiver,
      settings {
        $0.messages = .nmea
        $0.rateHz = 20
        $0.saves = true
      })
    #expect(
      requests == [
        "VERSIONA", "UNLOG", "GPGGA 0.05", "GPGGA 1", "GPRMC 0.05", "GPGSA 0.05", "GPGST 0.05", "GPGSV 1",
      ])
    #expect(warning?.contains("it refused rateHz") == true, "\(warning ?? "")")
    #expect(warning?.contains("saves: the hub saves nothing") == true, "\(warning ?? "")")
  }

  @Test func `a rate that the receiver lacks, and UBX messages, are reported`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { Self.react($0) }
    let (requests, warning, _) = try await visit(
      receiver,
      settings {
        $0.messages = .ubx
        $0.rateHz = 4
      })
    #expect(warning?.contains("rateHz: this receiver has 1, 2, 5, 10 and 20 Hz") == true, "\(warning ?? "")")
    #expect(warning?.contains("messages: this receiver has no 'ubx'") == true, "\(warning ?? "")")
    #expect(requests == ["VERSIONA"])
  }

  @Test func `a receiver that wants checksums gets them`() async throws {
    let receiver = ScriptedReceiver(takesLines: true) { request in
      let line = Self.line(request)
      guard line.hasPrefix("$"), let star = line.firstIndex(of: "*") else { return .silence }
      return Self.react(Array(line[..<star].dropFirst().utf8))
    }
    let (requests, warning, _) = try await visit(receiver, settings { $0.messages = .nmea })
    #expect(warning == nil)
    // The checksums of the commands do not include the dollar sign.
    #expect(requests.drop { $0 == "VERSIONA" }.prefix(3) == ["$VERSIONA*1B", "$UNLOG*5F", "$GPGGA 1*47"])
  }

  @Test func `auto recognises a receiver by its heading, and asks it first`() async throws {
    let heading =
      "#UNIHEADINGA,78,GPS,FINE,2428,116060000,0,0,18,11;SOL_COMPUTED,NARROW_INT,1.4773,179.0284,-2.4202,0.0000,"
      + "0.8259,1.0921,\"999\",27,21,21,15,3,01,3,f3*5d424350\r\n"
    let receiver = ScriptedReceiver(saying: Array(heading.utf8), takesLines: true) { Self.react($0) }
    let (requests, _, identity) = try await visit(receiver, settings { $0.rateHz = 2 }, driver: .auto)
    #expect(requests.first == "VERSIONA" && requests.last == "GPGSV 1")
    #expect(identity?.driver == .unicore)
  }
}
