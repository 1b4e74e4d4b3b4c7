import Fusion
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import Outputs

/// The state as a panel that is redrawn in place.
///
/// No line is wider than the terminal, and the panel has no more lines than the terminal. Lines that the terminal has
/// wrapped or scrolled away could not be overwritten.
struct StateView {
  private struct Line {
    var name, text: String
    /// The device or devices from which the value comes.
    var origin = ""
    /// Whether a text that is too long continues on the next line. Otherwise it is cut.
    var wraps = false
  }

  /// The width of the column with the names.
  private static let nameWidth = 14

  private var state: FusedState?
  private var stateArrival: MonotonicInstant?
  /// The age of the state when the previous frame was drawn, in seconds. A hub whose devices have all failed sends no
  /// new state, and the values on the screen must not seem recent.
  private var stateAge = 0.0
  private var conditions: [(id: String, condition: ConditionReport)] = []
  private var mark: String?
  /// The size of the previous frame.
  private var drawn = TerminalSize(columns: 0, rows: 0)

  /// Stores the hub's report about its devices, to be drawn with the next frame.
  ///
  /// - Parameter mark: the word that marks simulated or replayed values, such as `SIMULATED`; `nil` for live ones
  /// - Returns: whether there is anything new to draw
  mutating func take(_ report: DevicesOfHub.Report, mark: String?, at now: MonotonicInstant) -> Bool {
    let old = conditions
    // Conditions that will end by themselves are shown only until there is a state.
    conditions = report.troubles.filter { $0.condition.isLoud || state == nil }.map { ($0.name, $0.condition) }
    defer { self.mark = mark }
    let isSame = old.count == conditions.count && zip(old, conditions).allSatisfy { $0 == $1 }
    guard !isSame || mark != self.mark else { return false }
    stateAge = stateArrival.map { (now - $0).inSeconds } ?? 0
    return true
  }

  /// The text that clears the previous frame and draws the new one. It does not end with a newline.
  mutating func frame(_ state: FusedState, at now: MonotonicInstant, in size: TerminalSize) -> String {
    self.state = state
    stateArrival = now
    stateAge = 0
    return draw(in: size)
  }

  private mutating func draw(in size: TerminalSize) -> String {
    let lines = StateView.fitted(state.map(lines) ?? [markLine].compactMap { $0 } + conditionLines, in: size)
    let rewind =
      if drawn.rows == 0 {
        ""
      } else if drawn.columns > size.columns || drawn.rows >= size.rows {
        // The previous frame no longer fits, and only the terminal knows how it has wrapped the lines, so clear the
        // screen.
        "\u{1B}[H\u{1B}[J"
      } else {
        // Moves to the first line of the previous frame, and clears the screen from there.
        "\u{1B}[\(drawn.rows)A\u{1B}[J"
      }
    drawn = TerminalSize(columns: lines.map(\.count).max() ?? 0, rows: lines.count)
    return rewind + lines.joined(separator: "\n")
  }

  /// The last frame, drawn again; `nil` before the first one.
  mutating func frame(in size: TerminalSize) -> String? {
    state == nil && conditions.isEmpty && mark == nil && drawn.rows == 0 ? nil : draw(in: size)
  }

  private var markLine: Line? { mark.map { Line(name: $0, text: "these are not live measurements") } }

  /// The lines for the problems of the devices: each problem, and below it the next step if there is one.
  private var conditionLines: [Line] {
    conditions.flatMap { id, condition in
      [Line(name: Text.printable(id), text: condition.headline, wraps: true)]
        + (condition.nextStep.map { [Line(name: "", text: Text.printable("-> \($0)"), wraps: true)] } ?? [])
    }
  }

  private static func fitted(_ lines: [Line], in size: TerminalSize) -> [String] {
    // Below the last line of the panel there is one line for the cursor.
    let room = max(size.rows - 1, 1)
    let texts = lines.flatMap { line -> [String] in
      if line.wraps { return wrapped(line, to: size.columns) }
      let text = Text.padded(line.name, nameWidth) + line.text
      let whole = line.origin.isEmpty ? text : "\(text)  \(Text.printable(line.origin))"
      return [cut(whole.count <= size.columns ? whole : text, to: size.columns)]
    }
    guard texts.count > room, room > 1 else { return Array(texts.prefix(room)) }
    return texts.prefix(room - 1) + [cut("… \(texts.count - room + 1) more lines", to: size.columns)]
  }

  /// The line in as many rows as it needs. A problem's next step is often longer than a terminal is wide, and is of no
  /// use if its end is missing.
  private static func wrapped(_ line: Line, to columns: Int) -> [String] {
    // A narrow terminal has no room for the column with the names.
    let left = columns < 60 ? 2 : nameWidth
    let indent = String(repeating: " ", count: line.text.hasPrefix("-> ") ? left + 3 : left)
    var rows: [String] = []
    var row = Text.padded(line.name, line.name.isEmpty ? left : nameWidth)
    var hasWord = false
    for word in line.text.split(separator: " ") {
      if hasWord, row.count + 1 + word.count > columns {
        rows.append(row)
        row = indent
        hasWord = false
      }
      row += (hasWord ? " " : "") + word
      hasWord = true
    }
    return (rows + [row]).map { cut($0, to: columns) }
  }

  private static func cut(_ text: String, to columns: Int) -> String {
    text.count > columns ? text.prefix(columns - 1) + "…" : text
  }

  private func lines(_ state: FusedState) -> [Line] {
    var lines = [Line(name: "mode", text: mode(state) + (mark.map { ", \($0)" } ?? ""))] + conditionLines
    if let position = state.position {
      let value = position.value
      let sigma = value.horizontalSigmaMetres.map { "\(Text.deviation($0)) m" } ?? "accuracy unknown"
      lines.append(
        Line(
          name: "position", text: "\(Text.place(value, decimals: 7)) \(sigma)", origin: origin(position, state)))
      let altitude = value.altitudeMSLMetres.map { metres in
        let sigma = value.verticalSigmaMetres.map { " \(Text.deviation($0)) m" } ?? ""
        return "\(Text.fixed(metres, 1)) m above sea level\(sigma)"
      }
      lines.append(Line(name: "altitude", text: altitude ?? "unknown"))
    } else {
      lines.append(Line(name: "position", text: "unknown"))
    }
    if let motion = state.motion {
      let track = motion.value.trackDegrees.map { ", course \(Text.bearing($0))" } ?? ""
      lines.append(
        Line(
          name: "speed", text: "\(Text.fixed(motion.value.speedMetresPerSecond, 2)) m/s\(track)",
          origin: origin(motion, state)))
    }
    if let attitude = state.attitude {
      let degrees = 180 / Double.pi
      let quaternion = attitude.value.quaternion
      lines.append(
        Line(
          name: "roll, pitch",
          text: "\(Text.fixed(quaternion.roll * degrees, 1))°, \(Text.fixed(quaternion.pitch * degrees, 1))° "
            + "\(Text.deviation(attitude.value.inclinationSigmaRadians * degrees))°",
          origin: origin(attitude, state)))
      let heading = attitude.value.headingSigmaRadians.map {
        "\(Text.bearing(quaternion.yaw * degrees)) \(Text.deviation($0 * degrees))°"
      }
      lines.append(Line(name: "heading", text: heading ?? "unknown until the board moves"))
    } else {
      lines.append(Line(name: "attitude", text: "unknown"))
    }
    if let air = state.air {
      let humidity = air.value.humidityPercent.map { ", \(Text.fixed($0, 0)) % humidity" } ?? ""
      lines.append(
        Line(
          name: "air",
          text: "\(Text.fixed(air.value.pressurePascals / 100, 2)) hPa, "
            + "\(Text.fixed(air.value.temperatureCelsius, 1)) °C\(humidity)",
          origin: origin(air, state)))
    }
    if let supply = state.supply {
      lines.append(
        Line(
          name: "supply",
          text: "\(Text.fixed(supply.value.volts, 2)) V, \(Text.fixed(supply.value.amperes, 3)) A, "
            + "\(Text.fixed(supply.value.watts, 2)) W",
          origin: origin(supply, state)))
    }
    if let fix = state.fix {
      let satellites = fix.value.satellitesUsed.map { ", \($0) satellites" } ?? ""
      lines.append(
        Line(
          name: "fix", text: "\(["unknown", "none", "2D", "3D"][min(max(fix.value.mode, 0), 3)])\(satellites)",
          origin: origin(fix, state)))
    }
    return lines
  }

  private func mode(_ state: FusedState) -> String {
    let word = StateLine.word(state.mode)
    return state.deadReckoningSince.map { "\(word) for \(Text.fixed((state.at - $0).inSeconds, 1)) s" } ?? word
  }

  private func origin<Value>(_ part: Dated<Value>, _ state: FusedState) -> String {
    let seconds = (state.at - part.at).inSeconds + stateAge
    return "(\(state.devices.text(part.source)), \(Text.fixed(seconds, 2)) s ago)"
  }
}

/// The state on a terminal, redrawn in place. It is also redrawn when the terminal's size changes, because the next
/// state may arrive much later.
final class StatePanel: Sendable {
  private let view = Guarded(StateView())

  /// Create this before any other thread starts. Later threads inherit the blocked SIGWINCH, so that only the thread of
  /// this panel handles changes of the size.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGWINCH)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    // If no thread can be started, a new size takes effect only with the next state.
    _ = DetachedThread.start("terminal") { [weak self] in
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGWINCH)
      var number: Int32 = 0
      while sigwait(&signals, &number) == 0, let self { self.drawAgain() }
    }
  }

  /// Shows a state.
  ///
  /// - Returns: whether the output is still read
  func show(_ state: FusedState) -> Bool {
    view.withLock { Terminal.draw($0.frame(state, at: MonotonicClock().now, in: .ofStandardOutput)) }
  }

  /// Shows the devices' problems, also before the first state.
  ///
  /// - Returns: whether the output is still read
  func show(_ report: DevicesOfHub.Report, mark: String?) -> Bool {
    view.withLock { view in
      guard view.take(report, mark: mark, at: MonotonicClock().now),
        let frame = view.frame(in: .ofStandardOutput)
      else { return true }
      return Terminal.draw(frame)
    }
  }

  private func drawAgain() {
    view.withLock { view in
      if let frame = view.frame(in: .ofStandardOutput) { Terminal.draw(frame) }
    }
  }
}
