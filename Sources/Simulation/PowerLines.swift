import Guarding
import HardwareIO

/// The levels of the board's power lines, for the simulated devices.
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

  /// Whether the line has ever been an output. Before that, the line switches nothing.
  func isDriven(_ line: String) -> Bool { state.withLock { $0.levels[line] != nil } }

  /// Whether the device on a line has its supply. The supply follows the level of the line, and is always on if the
  /// line is not driven.
  func supplies(_ line: String) -> Bool { state.withLock { $0.levels[line] ?? true } }

  /// Calls `onChange` each time the level of the line changes.
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

/// A power line as an output. The line is low when it is opened, and again after it is closed.
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
