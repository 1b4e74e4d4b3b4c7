import Guarding
import HardwareIO

/// The board's power lines, as the simulated devices see them.
public final class PowerLines: Sendable {
  private struct Observer {
    let line: String
    let onChange: @Sendable (Bool) -> Void
  }

  private struct State {
    var levels: [String: Bool] = [:]
    var observers: [Observer] = []
  }

  private let state = Guarded(State())

  public init() {}

  public func level(_ line: String) -> Bool { state.withLock { $0.levels[line] ?? false } }

  /// Whether somebody has ever had it as an output. One that nobody drives switches nothing.
  func isDriven(_ line: String) -> Bool { state.withLock { $0.levels[line] != nil } }

  /// Whether the device behind a line has its supply: as the line's level says, and always where nobody drives it.
  func supplies(_ line: String) -> Bool { state.withLock { $0.levels[line] ?? true } }

  /// Calls `onChange` whenever the line changes its level.
  func observe(_ line: String, _ onChange: @escaping @Sendable (Bool) -> Void) {
    state.withLock { $0.observers.append(Observer(line: line, onChange: onChange)) }
  }

  func set(_ line: String, _ level: Bool) {
    let interested = state.withLock { state -> [Observer] in
      guard state.levels[line] != level else { return [] }
      state.levels[line] = level
      return state.observers.filter { $0.line == line }
    }
    for observer in interested { observer.onChange(level) }
  }
}

/// One of the lines as an output.
final class SimulatedOutput: GPIOOutput {
  private let lines: PowerLines
  private let line: String

  init(lines: PowerLines, line: String) {
    self.lines = lines
    self.line = line
    lines.set(line, false)
  }

  deinit { close() }

  func set(_ level: Bool) { lines.set(line, level) }
  func close() { lines.set(line, false) }
}
