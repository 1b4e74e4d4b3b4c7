import Glibc
import MonotonicTime
import NMEA

/// Unicore's UM982, with two antennas, connected at its port COM2. It sends NMEA sentences and logs, and takes commands
/// as lines of words (Unicore's N4 Products Commands and Logs Reference Book, R1.4; the answers are as in published
/// dialogues with receivers).
struct UnicoreProtocol: ReceiverProtocol {
  private struct Settings {
    var speed: Int
    /// The interval of each sentence or log on this port, in milliseconds.
    var logs = ["GPGGA": 1000, "GPRMC": 1000]
    var masked: Set<String> = []
    var mode = "ROVER UAV"
    /// Whether commands need a checksum.
    var wantsChecksums = false
  }

  private static let model = "UM982"
  private static let port = "COM2"
  private static let version =
    "\"UM982\",\"R4.10Build15434\",\"HRPT00-S10C-P\",\"2310415000012-LR23A2225208904\",\"ff2740966a10124c\",\"2024/08/08\""
  private static let speeds = [9600, 19200, 38400, 57600, 115_200, 230_400, 460_800, 921_600]
  private static let systems: [(name: String, system: SatelliteSystem)] = [
    ("GPS", .gps), ("GLO", .glonass), ("GAL", .galileo), ("BDS", .beidou),
  ]
  /// The systems without simulated satellites.
  private static let otherSystems = ["QZSS", "IRNSS"]
  private static let sentences: [(name: String, kind: SolutionSentences.Kind)] = [
    ("GPGGA", .gga), ("GPRMC", .rmc), ("GPGSA", .gsa), ("GPGST", .gst), ("GPVTG", .vtg), ("GPGLL", .gll),
    ("GPZDA", .zda), ("GPGSV", .gsv),
  ]
  private static let heading = "UNIHEADINGA"
  private static let modes = [
    "ROVER", "ROVER SURVEY", "ROVER SURVEY MOW", "ROVER UAV", "ROVER UAV HIGHDYN", "ROVER AUTOMOTIVE", "BASE",
    "HEADING2",
  ]
  private static let refusal = "PARSING FAILD NO MATCHING FUNC"

  private let factory: Settings
  private var settings: Settings
  private var flash: Settings?

  init(_ character: ReceiverCharacter) {
    factory = Settings(speed: character.speed)
    settings = factory
  }

  var takesLines: Bool { true }

  mutating func begin(_ body: inout ReceiverBody) {
    settings = flash ?? factory
    apply(&body)
    body.say(UnicoreProtocol.answer("devicename,\(UnicoreProtocol.port)"))
  }

  private func apply(_ body: inout ReceiverBody) {
    body.speed = settings.speed
    // The receiver computes solutions at the rate of its fastest log.
    body.interval = .milliseconds(settings.logs.values.min() ?? 1000)
    body.systems = Set(UnicoreProtocol.systems.filter { !settings.masked.contains($0.name) }.map(\.system))
  }

  mutating func wake(_ body: inout ReceiverBody) { body.search() }

  mutating func lostPower(isBackedUp: Bool) {}

  mutating func leave(at speed: Int, _ body: inout ReceiverBody) {
    var left = flash ?? factory
    left.speed = speed
    flash = left
    settings.speed = speed
    body.speed = speed
  }

  // MARK: Commands

  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    guard let text = text(of: command) else { return }
    let result = perform(text.uppercased().split { $0 == " " || $0 == "," }.map(String.init), &body)
    body.answer(UnicoreProtocol.answer("command,\(text),response: \(result.isAccepted ? "OK" : result.reason)"))
    for line in result.lines { body.answer(line) }
    if let start = result.restart {
      body.forget(for: start)
      body.boot()
    }
    if let speed = result.speed {
      settings.speed = speed
      body.speed = speed
    }
  }

  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody) {
    guard let text = text(of: command) else { return }
    body.answer(UnicoreProtocol.answer("command,\(text),response: \(UnicoreProtocol.refusal)"))
  }

  /// The words of a command in the form that the receiver takes now; `nil` for any other command.
  private func text(of command: ReceivedCommand) -> String? {
    switch command.form {
    case .line: settings.wantsChecksums ? nil : String(decoding: command.payload, as: UTF8.self)
    case .sentence: settings.wantsChecksums ? String(decoding: command.payload, as: UTF8.self) : nil
    case .ubx, .casic, .rtcm: nil
    }
  }

  private struct Result {
    var isAccepted = true
    var reason = UnicoreProtocol.refusal
    /// The lines after the answer.
    var lines: [[UInt8]] = []
    var restart: ReceiverStart?
    var speed: Int?

    static let accepted = Result()
    static let refused = Result(isAccepted: false)
  }

  private mutating func perform(_ words: [String], _ body: inout ReceiverBody) -> Result {
    let parameters = Array(words.dropFirst())
    switch words.first {
    case "VERSIONA":
      // The version goes to the port that is named.
      guard parameters.isEmpty || parameters == [UnicoreProtocol.port] else { return .accepted }
      return Result(lines: [log("VERSIONA", UnicoreProtocol.version, body.current)])
    case "UNLOG":
      if let name = parameters.last { settings.logs[name] = nil } else { settings.logs = [:] }
    case "MASK", "UNMASK":
      guard let system = parameters.first, parameters.count == 1,
        UnicoreProtocol.systems.contains(where: { $0.name == system }) || UnicoreProtocol.otherSystems.contains(system)
      else { return .refused }
      if words[0] == "MASK" { settings.masked.insert(system) } else { settings.masked.remove(system) }
    case "MODE":
      let mode = parameters.joined(separator: " ")
      guard UnicoreProtocol.modes.contains(mode) else { return .refused }
      settings.mode = mode
    case "CONFIG": return configure(parameters)
    case "SAVECONFIG": flash = settings
    case "RESET":
      let data = parameters.first
      guard data == nil || data == "EPHEM" || data == "ALL" else { return .refused }
      return Result(restart: data == nil ? .hot : data == "EPHEM" ? .warm : .cold)
    case "FRESET":
      flash = nil
      return Result(restart: .cold)
    case let name?: return log(name, parameters, &body)
    case nil: return .refused
    }
    apply(&body)
    return .accepted
  }

  private mutating func configure(_ parameters: [String]) -> Result {
    guard let name = parameters.first, parameters.count > 1 else { return .refused }
    switch name {
    case "CMDFORMAT": settings.wantsChecksums = parameters[1] == "1"
    case "SBAS": guard ["ENABLE", "DISABLE"].contains(parameters[1]) else { return .refused }
    case "COM1", "COM2", "COM3":
      guard let speed = Int(parameters[1]), UnicoreProtocol.speeds.contains(speed) else { return .refused }
      if name == UnicoreProtocol.port { return Result(speed: speed) }
    default: return .refused
    }
    return .accepted
  }

  /// Requests a sentence or a log at an interval, in seconds.
  private mutating func log(_ name: String, _ parameters: [String], _ body: inout ReceiverBody) -> Result {
    let isKnown = name == UnicoreProtocol.heading || UnicoreProtocol.sentences.contains { $0.name == name }
    guard isKnown, let seconds = parameters.last.flatMap({ Double($0) }) else { return .refused }
    let milliseconds = Int((seconds * 1000).rounded())
    guard milliseconds >= 1000 || [500, 200, 100, 50].contains(milliseconds) else { return .refused }
    settings.logs[name] = milliseconds
    apply(&body)
    return .accepted
  }

  // MARK: Output

  mutating func report(_ solution: Solution, _ body: inout ReceiverBody) {
    let now = solution.timeOfWeekNanoseconds / 1_000_000
    func isDue(_ name: String) -> Bool {
      settings.logs[name].map { (now + 5) % Int64($0) < 10 } ?? false
    }
    let kinds = UnicoreProtocol.sentences.filter { isDue($0.name) }.map(\.kind)
    body.say(SolutionSentences(solution, isModern: true)(kinds))
    guard isDue(UnicoreProtocol.heading) else { return }
    let fields = UnicoreProtocol.headingFields(solution.hasFix ? body.headingDegrees : nil)
    body.say(log(UnicoreProtocol.heading, fields, solution))
  }

  /// The direction from one antenna to the other, 1.5 m ahead of it.
  private static func headingFields(_ degrees: Double?) -> String {
    guard let degrees else {
      return "INSUFFICIENT_OBS,NONE,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,\"\",0,0,0,0,0,00,0,0"
    }
    let heading = SentenceField.fixed(degrees, 4)
    return "SOL_COMPUTED,NARROW_INT,1.5000,\(heading),0.0000,0.0000,0.3000,0.5000,\"999\",27,21,21,15,3,01,3,f3"
  }

  /// Makes a log: the name, a header with the time, the fields and the CRC-32 of all that.
  private func log(_ name: String, _ fields: String, _ solution: Solution) -> [UInt8] {
    let time = "FINE,\(solution.week),\(solution.timeOfWeekMilliseconds)"
    let body = Array("\(name),79,GPS,\(time),15434,0,18,22;\(fields)".utf8)
    let digits = String(UnicoreProtocol.remainder(body), radix: 16)
    let padded = String(repeating: "0", count: 8 - digits.utf8.count) + digits
    return [UInt8(ascii: "#")] + body + Array("*\(padded)\r\n".utf8)
  }

  /// The table of the CRC-32, as in the appendix of the reference book.
  private static let table: [UInt32] = (0..<256).map { number in
    (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }

  private static func remainder(_ bytes: [UInt8]) -> UInt32 {
    bytes.reduce(0) { value, byte in table[Int((value ^ UInt32(byte)) & 0xFF)] ^ value >> 8 }
  }

  /// An answer, whose checksum includes the dollar sign.
  private static func answer(_ body: String) -> [UInt8] {
    let line = Array("$\(body)".utf8)
    let digits = String(line.reduce(0, ^), radix: 16, uppercase: true)
    return line + Array("*\(digits.utf8.count == 1 ? "0" : "")\(digits)\r\n".utf8)
  }
}
