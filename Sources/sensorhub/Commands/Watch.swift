import ArgumentParser
import Fusion
import Glibc
import Hub
import MonotonicTime
import Outputs

/// Shows the fused state.
struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the fused state as it changes. Watching wakes the devices.",
    discussion: """
      On a terminal the view is updated in place. If the output is not a terminal, or the terminal has no cursor control \
      (TERM=dumb), each state is one line. A device that has failed, or has no measurement yet, has a line of its own with \
      the reason and the next step; with --json these lines go to standard error. SIMULATED and REPLAY mark values that \
      are not live measurements.

      With --once the command waits for the position if the board has a receiver, or for the parts that --parts names. A \
      cold receiver needs about a minute.

      Example: sensorhub watch --json | jq .position
      Without waking the receiver: sensorhub watch --parts attitude
      One fix a minute, accurate to 10 m: sensorhub watch --every 60 --accuracy 10
      Only positions 50 m apart: sensorhub watch --parts position --distance 50
      The last position if it is at most a minute old: sensorhub watch --max-age 60
      An error of at most 25 m, with few wakes: sensorhub watch --error 25
      A hub at a broker: sensorhub watch mqtts://broker.example/boat-7
      One fix a minute: sensorhub watch mqtts://broker.example/boat-7 --every 60
      """)

  @Argument(
    help: ArgumentHelp(
      "A hub at an MQTT broker, mqtt[s]://[user@]host[:port]/hub. Default: the hub on this machine.", valueName: "hub"
    ))
  var place: BrokerURL?

  @OptionGroup(title: "For a hub at a broker") var broker: BrokerOptions

  @Option(
    name: [.customLong("rate-hz"), .long], parsing: .unconditional,
    help: ArgumentHelp("The maximum number of states per second.", valueName: "hz"))
  var rate: Double?

  @Option(
    help: ArgumentHelp(
      "Wake only the devices for these parts of the state; other parts are shown while other clients keep their devices awake. A list of "
        + "\(Set<StatePart>.all.names), separated by commas.", valueName: "names"))
  var parts: String?

  @Option(
    help: ArgumentHelp(
      "Show fixes at this interval, in seconds, instead of states. The receiver wakes in time for each fix and sleeps in between.",
      valueName: "seconds"))
  var every: Double?

  @Option(
    help: ArgumentHelp(
      "With --every or --max-age: the accuracy of a fix, as the radius that contains 95 of 100 fixes. Default: any fix.",
      valueName: "metres"))
  var accuracy: Double?

  @Option(
    help: ArgumentHelp("Only positions at least this far from the last one shown.", valueName: "metres"))
  var distance: Double?

  @Option(
    help: ArgumentHelp(
      "Print one state and exit: the last known state if it is at most this old, without waking a device, otherwise a new "
        + "one. With --every: accept a fix that is at most this old.", valueName: "seconds"))
  var maxAge: Double?

  @Option(
    help: ArgumentHelp("Let the hub collect states for this time, and show them together.", valueName: "seconds"))
  var batch: Double?

  @Option(
    help: ArgumentHelp(
      "Take fixes as often as necessary to keep the position's error below this; the receiver sleeps in between.",
      valueName: "metres"))
  var error: Double?

  @Flag(help: "Print one state with a position and exit.")
  var once = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "With --once: how long to wait for the position or the parts. After that the command prints the state without them, and "
        + "exits with code 69; 0 prints the first state. With --every, --max-age or --error: how long devices may be awake for "
        + "one value. After that the command shows the best one it has. Default: 120 with --once, otherwise 60.",
      valueName: "seconds"
    ))
  var within: Double?

  /// The time limit of `--once`, in seconds; 0 for no limit.
  private var patience: Double { within ?? 120 }

  @Flag(help: "Print the states as JSON, one per line.")
  var json = false

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if let rate, !(0.01...1000).contains(rate) { throw ValidationError("--rate must be from 0.01 to 1000") }
    if let parts, Watch.parts(parts) == nil {
      throw ValidationError("--parts must be a list of \(Set<StatePart>.all.names), separated by commas")
    }
    if let place, place.hub == nil { throw ValidationError("name the hub too: \(place.broker)/boat-7") }
    if place != nil, socket != nil { throw ValidationError("--socket is for a hub on this machine") }
    if place != nil, let rate, rate > 100 { throw ValidationError("--rate must be at most 100 for a hub at a broker") }
    if every == nil, let within, !(0...86_400).contains(within) {
      throw ValidationError("--within must be from 0 to 86400")
    }
    try validateSchedule()
    do throws(ViewRequest.Mistake) {
      _ = try request()
    } catch {
      throw ValidationError("\(Watch.option(error.key)) \(error.reason)")
    }
    if once, distance != nil || batch != nil || error != nil {
      throw ValidationError("--once shows one state, and cannot be combined with --distance, --batch and --error")
    }
  }

  private static func option(_ key: ViewRequest.Key) -> String {
    switch key {
    case .rateHz: "--rate"
    case .maxAge: "--max-age"
    default: "--\(key.rawValue)"
    }
  }

  private func request() throws(ViewRequest.Mistake) -> ViewRequest {
    var values = ViewRequest.Values()
    // Without a rate, the first state is sent as soon as there is one.
    values.numbers[.rateHz] = once ? nil : rate
    (values.numbers[.every], values.numbers[.accuracy]) = (every, accuracy)
    (values.numbers[.distance], values.numbers[.maxAge]) = (distance, maxAge)
    (values.numbers[.batch], values.numbers[.error]) = (batch, error)
    if isWithinTheHubs { values.numbers[.within] = within }
    values.parts = parts.map(Watch.names)
    return try ViewRequest(values)
  }

  /// Whether `--within` is part of the request to the hub; otherwise it limits how long this program waits.
  private var isWithinTheHubs: Bool { every != nil || maxAge != nil || error != nil }

  private func validateSchedule() throws {
    guard let every else {
      if accuracy != nil, maxAge == nil {
        throw ValidationError("--accuracy needs --every, the seconds between two fixes, or --max-age")
      }
      if within != nil, !once, !isWithinTheHubs {
        throw ValidationError("--within needs --once, --every, --max-age or --error")
      }
      return
    }
    if rate != nil || parts != nil || once {
      throw ValidationError("--every requests fixes, and cannot be combined with --rate, --parts and --once")
    }
    let (intervals, accuracies, times) = (Schedule.everySeconds, Schedule.accuracyMetres, Schedule.withinSeconds)
    if !intervals.contains(every) { throw ValidationError("--every must be from 1 to 604800") }
    if let accuracy, !accuracies.contains(accuracy) { throw ValidationError("--accuracy must be from 0.1 to 10000") }
    if let within, !times.contains(within) { throw ValidationError("--within must be from 1 to 3600 with --every") }
  }

  func run() throws {
    let request = try request()
    if request.asksForFixes { return try printFixes(request) }
    if maxAge != nil { return try printCurrent(request) }
    let panel = !once && !json && Terminal.canBeDrawnOn ? StatePanel() : nil
    let hub = try watchedHub("{\(request.members)\"name\": \"watch\"}")
    if let parts = parts.flatMap(Watch.parts), Watch.awaited(parts, of: try hub.devices()).isEmpty {
      throw CommandError(
        .unavailable, "the hub has no device that measures \(parts.names)",
        nextStep: "sensorhub devices lists its devices")
    }
    if once { return try printOne(from: hub) }
    try show(hub, on: panel)
  }

  /// The interval at which the devices' problems are checked.
  private static let look = Duration.seconds(1)

  /// Shows states as they arrive. Shows the devices' problems even if no state arrives.
  ///
  /// - Parameter panel: the panel to draw; `nil` to print lines
  private func show(_ hub: any WatchedHub, on panel: StatePanel?) throws {
    let clock = MonotonicClock()
    var lines = ConditionLines()
    var mark: String?
    var nextLook = clock.now
    while true {
      if clock.now >= nextLook {
        let report = hub.knownReport()
        // Set the next time only after the report has arrived, so that states are shown in between even if reports take
        // long.
        nextLook = clock.now + Watch.look
        if let report {
          mark = DevicesOfHub.mark(of: report.devices)
          if let panel {
            guard panel.show(report, mark: mark) else { return }
          } else {
            for line in lines.take(report, at: clock.now) { guard say(line, mark) else { return } }
          }
        }
        if Terminal.isReaderGone { return }
      }
      switch try hub.nextLine(by: nextLook) {
      case .late: continue
      case .closed: throw CommandError.hubClosed
      case .text(let line):
        if let panel, let state = StateReport.read(line) {
          guard panel.show(state) else { return }
        } else {
          guard print(line, mark) else { return }
        }
      }
    }
  }

  /// Prints a line about a problem, to standard error if the output is JSON.
  ///
  /// - Returns: whether the output is still read
  private func say(_ line: String, _ mark: String?) -> Bool {
    guard json else { return Terminal.standardOutput(mark.map { "\($0)  \(line)" } ?? line) }
    Terminal.standardError(line)
    return true
  }

  private func printFixes(_ request: ViewRequest) throws {
    // A hub at a broker may have an old version that does not know schedules. Such a hub treats a request with
    // `"rateHz": 0` as empty, and wakes no device.
    let states = place == nil ? "" : "\"rateHz\": 0, "
    let hub = try watchedHub("{\(states)\(request.members)\"name\": \"watch\"}")
    if Watch.awaited([.position], of: try hub.devices()).isEmpty {
      throw CommandError(
        .unavailable, "the hub has no receiver", nextStep: "sensorhub devices lists its devices")
    }
    try show(hub, on: nil)
  }

  /// The time that this program waits for an answer in addition to the hub's own limit.
  private static let answerTime = Duration.seconds(10)

  /// Prints the one state that the hub sends: the last one if it is recent enough, or a new one.
  private func printCurrent(_ request: ViewRequest) throws {
    let start = MonotonicClock().now
    let states = place == nil ? "" : "\"rateHz\": 0, "
    let time = (request.within ?? Schedule.usualWithin) + Watch.answerTime
    let hub = try watchedHub("{\(states)\(request.members)\"name\": \"watch\"}", lifetime: time)
    switch try hub.nextLine(by: start + time) {
    case .text(let line): print(line, hub.knownReport().flatMap { DevicesOfHub.mark(of: $0.devices) })
    case .closed: throw CommandError.hubClosed
    case .late:
      throw CommandError(
        .unavailable, "no state within \(Text.duration(seconds: time.inSeconds))",
        nextStep: "sensorhub devices shows what each device does; --within sets a longer wait")
    }
  }

  private func watchedHub(_ request: String, lifetime: Duration? = nil) throws -> any WatchedHub {
    guard let place, let name = place.hub else { return try LocalHub(socket, request: request) }
    return try RemoteHub(
      place, hub: name, broker, interest: request, isOnSchedule: every != nil || error != nil, lifetime: lifetime)
  }

  private static func parts(_ text: String) -> Set<StatePart>? {
    Set(names: names(text))
  }

  private static func names(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map { String($0.filter { $0 != " " }) }
  }

  /// After this time without a state, the program prints what it waits for.
  private static let silence = Duration.seconds(5)

  private func printOne(from hub: any WatchedHub) throws {
    let start = MonotonicClock().now
    let deadline = patience > 0 ? start + .nanoseconds(Int64(patience * 1e9)) : nil
    let missing = patience > 0 ? try Watch.awaited(parts.flatMap(Watch.parts), of: hub.devices()) : []
    let what = missing.isEmpty ? "state" : missing.map(\.rawValue).joined(separator: ", ")
    var hint: MonotonicInstant? = start + Watch.silence
    var last: [UInt8]?
    func mark() -> String? { hub.knownReport().flatMap { DevicesOfHub.mark(of: $0.devices) } }
    while true {
      switch try hub.nextLine(by: [deadline, hint].compactMap { $0 }.min()) {
      case .text(let line):
        let state = StateReport.read(line)
        if missing.isEmpty || state.map({ state in missing.allSatisfy { $0.isIn(state) } }) ?? false {
          print(line, mark())
          return
        }
        last = line
      case .closed: throw CommandError.hubClosed
      case .late: break
      }
      let now = MonotonicClock().now
      if let deadline, now >= deadline { break }
      if let due = hint, now >= due {
        hint = nil
        let devices = try hub.devices().map { device in
          let reason = device.conditions?.first.map { "\(device.reason): \($0.text)" } ?? device.reason
          return Text.printable("\(device.id) is \(device.power), \(reason)")
        }
        Terminal.standardError("waiting for a \(what): \(devices.joined(separator: "; "))")
      }
    }
    if let last { print(last, mark()) }
    if let report = hub.knownReport() {
      var problems = ConditionLines()
      for line in problems.take(report, at: MonotonicClock().now) { Terminal.standardError(line) }
    }
    throw CommandError(
      .unavailable, "no \(what) within \(Text.duration(seconds: patience))",
      nextStep: "sensorhub devices shows what each device does; --within sets a longer wait")
  }

  /// The parts that can be expected in a state: those requested parts that a device of the hub measures.
  private static func awaited(_ parts: Set<StatePart>?, of devices: [DevicesOfHub.Device]) -> [StatePart] {
    let kinds = Set(devices.map(\.kind))
    // A receiver's other values arrive with its position. An inertial sensor's other values arrive with its attitude.
    let wanted = (parts ?? [.position]).map { part -> (StatePart, String) in
      switch part {
      case .position, .altitude, .motion, .time, .satellites: (.position, "receiver")
      case .attitude, .heading, .rates, .acceleration: (.attitude, "imu")
      case .magneticField: (.magneticField, "magnetometer")
      case .pressure: (.pressure, "barometer")
      case .supply: (.supply, "supplyMonitor")
      }
    }
    return StatePart.allCases.filter { part in wanted.contains { $0.0 == part && kinds.contains($0.1) } }
  }

  /// The outcome of a request for a fix, as text; empty if the state is not the result of such a request.
  private func outcome(_ line: [UInt8]) -> String {
    guard every != nil || error != nil, let outcome = RequestedFixReport.outcome(line) else { return "" }
    let radius = outcome.radius.map { "95 % within \(Text.fixed($0, 1)) m" }
    let found = outcome.still ? "still" + (radius.map { ", \($0)" } ?? "") : radius ?? "a fix"
    // A fix that meets the accuracy that the energy budget allows is not reported as too late.
    let isLess = outcome.relaxed?.accuracy.map { (outcome.radius ?? .infinity) <= $0 } ?? false
    let verdict = outcome.met || isLess ? found : "time ran out" + (radius.map { ": \($0)" } ?? "")
    let pause = outcome.pause.map { ", no reception: searches again in \(Text.duration(seconds: $0.rounded()))" } ?? ""
    return "  " + verdict + pause + (outcome.relaxed.map(shortage) ?? "")
  }

  /// The interval and accuracy that the energy budget has relaxed, as text; unchanged ones are omitted.
  private func shortage(_ left: RequestedFixReport.Terms) -> String {
    var parts: [String] = []
    // Values in a message are rounded, so small differences do not count.
    if let every, left.every > every + 0.001 { parts.append("every \(Text.duration(seconds: left.every))") }
    if let accuracy, let metres = left.accuracy, metres > accuracy + 0.01 {
      parts.append("\(Text.fixed(metres, metres < 10 ? 1 : 0)) m accuracy")
    }
    return parts.isEmpty ? "" : ", \(parts.joined(separator: ", ")) (energy is short)"
  }

  /// Prints a state.
  ///
  /// - Returns: whether the output is still read
  @discardableResult
  private func print(_ line: [UInt8], _ mark: String? = nil) -> Bool {
    if json { return Terminal.standardOutput(json: String(decoding: line, as: UTF8.self)) }
    guard let state = StateReport.read(line) else { return true }
    return Terminal.standardOutput((mark.map { "\($0)  " } ?? "") + StateLine.text(state) + outcome(line))
  }
}

extension StatePart {
  /// Whether a state contains this part, or the position for all parts that arrive with it. A position from before the
  /// devices went to sleep does not count.
  fileprivate func isIn(_ state: FusedState) -> Bool {
    switch self {
    case .magneticField: state.magneticField != nil
    case .pressure: state.air != nil
    case .supply: state.supply != nil
    case .attitude: state.attitude != nil
    default: state.position != nil && state.mode != .asleep
    }
  }
}
