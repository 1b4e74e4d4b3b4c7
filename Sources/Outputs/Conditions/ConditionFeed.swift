import Guarding
import Hub
import MonotonicTime
import Publishing

/// Reports the problems of devices and of the board file. It also notices problems that develop without an event, such
/// as a silent line.
///
/// It checks when a device changes, and every two seconds while a device that a client needs has failed or measures
/// nothing useful yet. Otherwise no timer repeats. The checks run on the timer's thread, never on a reader's.
public final class ConditionFeed: Sendable {
  /// A problem of a device or of the board file.
  struct Entry: Equatable, Sendable {
    var device: String
    var condition: DeviceCondition
    /// Whether a client needs the device at present.
    var isWanted: Bool
  }

  static let interval = Duration.seconds(2)
  /// The delay from a change to the check. Changes come in groups, and one check serves the group.
  static let delay = Duration.milliseconds(50)

  private let clock: any MonotonicTimeSource
  private let latest = MutableProperty<[Entry]>([])
  private let present = Guarded<Lifetime?>(nil)
  /// The problem of the board file as last read; `nil` if the hub uses that file.
  private let board = Guarded<DeviceCondition?>(nil)
  private let lifetime = Lifetime()

  init(clock: any MonotonicTimeSource) {
    self.clock = clock
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// Adds the time for which the machine was suspended to the duration of the board file's problem. The devices'
  /// monitors do this for their own problems.
  private func resume(after slept: Duration) {
    let hasProblem = board.withLock { board in
      board?.since.moveBack(by: slept)
      return board != nil
    }
    if hasProblem { replaceBoardEntries() }
  }

  /// The problems of the devices and of the board file. It changes with each check that finds a problem, once more when
  /// no problem is left, and each time that the board file was read.
  var changes: Property<[Entry]> { latest.readOnly }

  /// The value of `Entry.device` for a problem of the board file.
  static let boardName = "board file"

  /// The problem of the board file in a list, which is empty if there is none.
  public var ofBoard: [DeviceCondition] { board.withLock { [$0].compactMap { $0 } } }

  /// Records that the board file was read again.
  ///
  /// - Parameter error: why the hub does not use the file; `nil` if it does
  public func boardWasRead(_ error: (summary: String, nextStep: String?)?) {
    let now = clock.now
    board.withLock { board in
      board = error.map { error in
        DeviceCondition(
          .failed, .warning, "the hub keeps the old one: \(error.summary)", nextStep: error.nextStep,
          since: board?.since ?? now)
      }
    }
    replaceBoardEntries()
  }

  private func replaceBoardEntries() {
    latest.value = latest.value.filter { $0.device != ConditionFeed.boardName } + boardEntries
  }

  private var boardEntries: [Entry] {
    ofBoard.map { Entry(device: ConditionFeed.boardName, condition: $0, isWanted: false) }
  }

  /// Checks these devices from now on, instead of those of the previous board.
  func follow(_ monitors: [DeviceMonitor]) {
    let lifetime = Lifetime()
    let alarm = Alarm(clock: clock)
    let look = Coalesced(ConditionFeed.delay, clock: clock) { [weak self] in self?.look(at: monitors, alarm) }
    Subscription {
      look.end()
      alarm.end()
    }.store(in: lifetime)
    for monitor in monitors {
      monitor.changes.subscribe(as: "conditions", receiveValue: { _ in look.request() }).store(in: lifetime)
    }
    replace(with: lifetime)
  }

  func end() { replace(with: nil) }

  private func replace(with new: Lifetime?) {
    present.withLock { present in
      defer { present = new }
      return present
    }?.end()
  }

  private func look(at monitors: [DeviceMonitor], _ alarm: Alarm) {
    let entries = monitors.flatMap { monitor in
      let (isWanted, conditions) = monitor.trouble
      return conditions.map { Entry(device: monitor.id, condition: $0, isWanted: isWanted) }
    }
    let all = entries + boardEntries
    if !all.isEmpty || !latest.value.isEmpty { latest.value = all }
    guard entries.contains(where: { $0.isWanted && $0.condition.kind.changesByItself }) else { return }
    alarm.set(at: clock.now + ConditionFeed.interval) { [weak self] in self?.look(at: monitors, alarm) }
  }
}

extension DeviceCondition.Kind {
  /// Whether the description changes as time passes, without an event.
  fileprivate var changesByItself: Bool { self == .failed || self == .acquiring }
}
