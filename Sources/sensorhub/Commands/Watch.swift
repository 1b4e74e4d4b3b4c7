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
      On a terminal the view is updated in place; otherwise each state is a line.

      With --once it waits until the receiver, if there is one, has found its position; a cold one takes a minute.

      Example: sensorhub watch --json | jq .position
      Without waking the receiver: sensorhub watch --parts attitude
      """)

  @Option(help: ArgumentHelp("States a second at most.", valueName: "hz"))
  var rate: Double?

  @Option(
    help: ArgumentHelp(
      "Wake only what measures these parts of the state, and show what else is awake anyway: some of "
        + "\(Set<StatePart>.all.names), with commas between.", valueName: "names"))
  var parts: String?

  @Flag(help: "Print one state with a position and exit.")
  var once = false

  @Option(
    help: ArgumentHelp(
      "With --once: how long to wait for a position, before a state without one is printed and the exit code is 69. 0 takes "
        + "the first state as it is.", valueName: "seconds"))
  var within = 120.0

  @Flag(help: "Print the states as JSON, one a line.")
  var json = false

  @Option(help: ArgumentHelp("The hub's socket.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if let rate, !(0.01...1000).contains(rate) { throw ValidationError("--rate must be from 0.01 to 1000") }
    if let parts, Watch.parts(parts) == nil {
      throw ValidationError("--parts must be some of \(Set<StatePart>.all.names), with commas between")
    }
    if !(0...86_400).contains(within) { throw ValidationError("--within must be from 0 to 86400") }
  }

  func run() throws {
    var connection = try HubConnection.open(socket) { $0.state }
    // Who wants one state wants it at once.
    let wanted = (once ? nil : rate).map { "\"rateHz\": \($0), " } ?? ""
    let names = parts.flatMap(Watch.parts)?.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    let chosen = names.map { "\"parts\": [\($0)], " } ?? ""
    connection.send("{\(wanted)\(chosen)\"name\": \"watch\"}")
    if once { return try printOne(from: &connection) }
    var view = StateView()
    let isTerminal = isatty(STDOUT_FILENO) == 1
    while let line = connection.nextLine() {
      if isTerminal, !json, let state = StateReport.read(line) {
        guard Terminal.standardOutput(view.frame(state)) else { return }
      } else {
        guard print(line) else { return }
      }
    }
    throw CommandError.hubClosed
  }

  private static func parts(_ text: String) -> Set<StatePart>? {
    Set(names: text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } })
  }

  /// How long nothing is said of what is being waited for.
  private static let silence = Duration.seconds(5)

  private func printOne(from connection: inout HubConnection) throws {
    let start = MonotonicClock().now
    let deadline = within > 0 ? start + .nanoseconds(Int64(within * 1e9)) : nil
    // What a receiver measures comes with its position.
    let isWanted = parts.flatMap(Watch.parts)?.contains { ![.attitude, .rates, .acceleration].contains($0) } ?? true
    let needsPosition = try isWanted && within > 0 && DevicesOfHub.read(socket).contains { $0.kind == "receiver" }
    let what = needsPosition ? "position" : "state"
    var hint: MonotonicInstant? = start + Watch.silence
    var last: [UInt8]?
    while true {
      switch connection.nextLine(by: [deadline, hint].compactMap { $0 }.min()) {
      case .text(let line):
        let hasPosition = StateReport.read(line).map { $0.position != nil && $0.mode != .asleep } == true
        if hasPosition || !needsPosition {
          print(line)
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
        let devices = try DevicesOfHub.read(socket).map { "\($0.id) is \($0.power), \($0.reason)" }
        Terminal.standardError("waiting for a \(what): \(devices.joined(separator: "; "))")
      }
    }
    if let last { print(last) }
    throw CommandError(
      .unavailable, "no \(what) within \(Text.duration(seconds: within))",
      nextStep: "sensorhub devices says what each device does; --within waits longer")
  }

  /// Returns whether anybody still reads.
  @discardableResult
  private func print(_ line: [UInt8]) -> Bool {
    if json { return Terminal.standardOutput(String(decoding: line, as: UTF8.self)) }
    guard let state = StateReport.read(line) else { return true }
    return Terminal.standardOutput(StateLine.text(state))
  }
}
