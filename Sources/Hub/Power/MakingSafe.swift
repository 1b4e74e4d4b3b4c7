import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Switches off everything that a previous hub may have left on. It drives every power line first, and then puts chips
/// and receivers without a switch to sleep.
///
/// All lines are driven at the same time, and then all chips are put to sleep at the same time, so that a device that
/// hangs does not keep another one on. This takes at most `limit`. The systemd unit allows more for a start
/// (`TimeoutStartSec`) and for the actions after a stop (`TimeoutStopSec`).
public struct MakingSafe: Sendable {
  public static let limit = Duration.seconds(4)
  /// The longest wait for lines. A hanging line does not keep chips from being put to sleep.
  private static let longestLine = Duration.seconds(1)

  private enum Outcome: Sendable {
    case safe
    case absent
    case failed(HardwareError)
  }

  /// The steps for the devices that share a line, a port or a chip. They run one after the other.
  private struct Group {
    var steps: [(hub: Int, id: String, reader: any Device)] = []
  }

  private let hubs: [Hub]
  private let isStarting: Bool
  private let clock: any MonotonicTimeSource
  /// Called when the result of a line or chip is known, on its thread. A test of lines that hang waits for the others.
  var stepEnded: @Sendable () -> Void = {}

  /// - Parameters:
  ///   - hubs: the hubs of all boards; the one that continues to run comes last
  ///   - isStarting: whether to skip receivers that would take seconds of listening; they sleep after their next use
  public init(_ hubs: [Hub], isStarting: Bool = false, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.hubs = hubs
    self.isStarting = isStarting
    self.clock = clock
  }

  /// - Returns: the results, hub by hub
  public func run(within limit: Duration = MakingSafe.limit) -> [SafetyReport] {
    var reports = hubs.map { _ in SafetyReport() }
    var lines: [GPIOLineName: Group] = [:]
    var sleepers: [String: Group] = [:]
    for (index, hub) in hubs.enumerated() {
      for entry in hub.registry.value.entries {
        let step = (hub: index, id: entry.description.id, reader: entry.reader)
        if case .gpio(let line, _) = entry.description.power.switch {
          reports[index].hasPowerLines = true
          lines[line, default: Group()].steps.append(step)
        } else if !isStarting || !entry.needsListening {
          sleepers[entry.connection, default: Group()].steps.append(step)
        }
      }
    }
    let begin = clock.now
    let driving = start(lines.values.map { $0 }, "power line") { (reader) throws(HardwareError) in
      try reader.rail.makeSafe()
      return true
    }
    _ = driving.steps.results(until: begin + min(limit, MakingSafe.longestLine))
    let sleeping = start(sleepers.values.map { $0 }, "to sleep") { (reader) throws(HardwareError) in
      try reader.fallAsleep()
    }
    for (groups, steps) in [sleeping, driving] {
      let results = steps.results(until: begin + limit)
      for (number, group) in groups.enumerated() { note(results[number], of: group, within: limit, in: &reports) }
    }
    for index in reports.indices {
      reports[index].problems.sort()
      reports[index].absent.sort()
    }
    return reports
  }

  private func start(
    _ groups: [Group], _ name: String, _ step: @escaping @Sendable (any Device) throws(HardwareError) -> Bool
  ) -> (groups: [Group], steps: BoundedSteps<[Outcome]>) {
    let steps = BoundedSteps<[Outcome]>(clock: clock)
    let stepEnded = stepEnded
    for (number, group) in groups.enumerated() {
      let readers = group.steps.map(\.reader)
      steps.start(number, name, ended: stepEnded) {
        readers.map { reader in
          do throws(HardwareError) {
            return try step(reader) ? .safe : .absent
          } catch {
            return .failed(error)
          }
        }
      }
    }
    return (groups, steps)
  }

  private func note(
    _ outcomes: [Outcome]?, of group: Group, within limit: Duration, in reports: inout [SafetyReport]
  ) {
    for (index, step) in group.steps.enumerated() {
      switch outcomes?[index] {
      case .safe: break
      case .absent: reports[step.hub].absent.append(step.id)
      case .failed(let error):
        if case .inUse = error { reports[step.hub].isHeld = true }
        reports[step.hub].problems.append("\(step.id): it cannot be switched off: \(error)")
      case nil:
        reports[step.hub].problems.append(
          "\(step.id): it cannot be switched off: no answer for \(Int(limit.inSeconds)) s")
      }
    }
  }
}

extension BoardDevice {
  /// Whether putting the device to sleep takes seconds of listening. A modem's receiver takes none, because
  /// ModemManager knows its state.
  fileprivate var needsListening: Bool {
    if case .receiver(let receiver, _) = self { !ModemPortName.isMeant(by: receiver.port) } else { false }
  }

  /// The receiver's port, or the chip's bus and address, which only one thread may use at a time.
  fileprivate var connection: String {
    if case .receiver(let receiver, _) = self { return receiver.port }
    return description.place.map { "\($0)" } ?? description.id
  }
}

/// The results of switching a board's devices off.
public struct SafetyReport: Equatable, Sendable {
  /// The problems, in words.
  public var problems: [String] = []
  /// The IDs of the missing devices, which could not be put to sleep.
  public var absent: [String] = []
  /// Whether another program, such as a running hub, uses a device.
  public var isHeld = false
  /// Whether a device has a power line that the hub can drive.
  public var hasPowerLines = false

  public init() {}

  public static func += (all: inout SafetyReport, other: SafetyReport) {
    all.problems += other.problems
    all.absent += other.absent.filter { !all.absent.contains($0) }
    all.isHeld = all.isHeld || other.isHeld
    all.hasPowerLines = all.hasPowerLines || other.hasPowerLines
  }
}

/// Steps that may hang, each on its own thread. The caller waits for the steps only until a deadline, and continues
/// without the steps that have not returned.
final class BoundedSteps<Result: Sendable>: Sendable {
  private struct State {
    var results: [Int: Result] = [:]
    var startedCount = 0
    var isTimeOver = false

    var isDone: Bool { results.count == startedCount }
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  private let news = WakeSignal()

  init(clock: any MonotonicTimeSource) { self.clock = clock }

  /// - Parameters:
  ///   - number: identifies the step among the results
  ///   - name: the name of the thread
  ///   - ended: called when the result is known
  func start(
    _ number: Int, _ name: String, ended: @escaping @Sendable () -> Void, _ step: @escaping @Sendable () -> Result
  ) {
    state.withLock { $0.startedCount += 1 }
    let run: @Sendable () -> Void = { [self] in
      let result = step()
      state.withLock { $0.results[number] = result }
      news.raise()
      ended()
    }
    // If no descriptor or thread can be created, the step runs on this thread.
    if news.fileDescriptor < 0 || DetachedThread.start(name, run) != 0 { run() }
  }

  /// Waits until all started steps have returned, at most until the deadline.
  ///
  /// - Returns: the results of the returned steps, by number
  func results(until deadline: MonotonicInstant) -> [Int: Result] {
    state.withLock { $0.isTimeOver = false }
    let timer = clock.schedule(at: deadline) { [self] in
      state.withLock { $0.isTimeOver = true }
      news.raise()
    }
    defer { timer.cancel() }
    while !state.withLock({ $0.isDone || $0.isTimeOver }) { news.wait() }
    return state.withLock { $0.results }
  }
}
