import Guarding
import HardwareIO
import MonotonicTime

/// Observes the level of a line from outside and records each change.
public final class LineHistory: Sendable {
  public struct Change: Equatable, Sendable {
    /// When the new level was first seen, and when the old level was last seen. The change happened between the two.
    public var at: MonotonicInstant
    public var after: MonotonicInstant
    public var level: Bool
  }

  private let changes = Guarded([Change]())
  /// The signals of the threads that wait for a change.
  private let waiting = Guarded([WakeSignal]())
  private let stop = StopSignal()

  /// The interval at which a line that may change is read.
  private static let look = Duration.milliseconds(2)

  /// Reads the line every two milliseconds.
  ///
  /// - Parameter onChange: called on the observing thread
  public convenience init(
    of level: @escaping @Sendable () -> Bool, onChange: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    self.init(of: level, every: LineHistory.look, activity: nil, onChange: onChange)
  }

  /// Reads the line every two milliseconds shortly after a process has opened or closed one of some files, and
  /// otherwise once a second. This is for hours without activity.
  ///
  /// - Parameter files: files that a process opens or closes just before it changes the level
  public convenience init(
    of level: @escaping @Sendable () -> Bool, whereUsed files: [String],
    onChange: @escaping @Sendable (Bool) -> Void = { _ in }
  ) throws(HardwareError) {
    self.init(of: level, every: .seconds(1), activity: try FileActivity(of: files), onChange: onChange)
  }

  private init(
    of level: @escaping @Sendable () -> Bool, every pause: Duration, activity: FileActivity?,
    onChange: @escaping @Sendable (Bool) -> Void
  ) {
    let stop = stop
    let error = DetachedThread.start("line") { [weak self] in
      let poller = Poller(stop: stop.fileDescriptor)
      var last = false
      var lookedAt = MonotonicClock().now
      var closelyUntil = lookedAt
      var event = Poller.Event.timedOut
      repeat {
        let before = MonotonicClock().now
        if event == .readable {
          activity?.take()
          closelyUntil = before + .milliseconds(20)
        }
        let now = level()
        if now != last {
          last = now
          self?.append(Change(at: MonotonicClock().now, after: lookedAt, level: now))
          onChange(now)
        }
        lookedAt = before
        event = poller.wait(for: activity?.fileDescriptor, atMost: before < closelyUntil ? LineHistory.look : pause)
      } while event != .stopped
    }
    precondition(error == 0, "cannot start a thread to watch a line")
  }

  deinit { stop.set() }

  private func append(_ change: Change) {
    changes.withLock { $0.append(change) }
    waiting.withLock { for signal in $0 { signal.raise() } }
  }

  /// Blocks until the history meets a condition, which is checked at once and again after each change. Returns false
  /// after the limit, which delays only tests that fail.
  public func waits(within limit: Duration = .seconds(180), until isMet: (LineHistory) -> Bool) -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + limit
    let signal = WakeSignal()
    waiting.withLock { $0.append(signal) }
    defer { waiting.withLock { $0.removeAll { $0 === signal } } }
    while true {
      signal.clear()
      if isMet(self) { return true }
      let rest = deadline - clock.now
      guard rest > .zero else { return false }
      _ = Poller(stop: -1).wait(for: signal.fileDescriptor, atMost: rest)
    }
  }

  /// Blocks until the line is high.
  public func goesHigh() -> Bool { waits { $0.isHigh } }

  /// Blocks until the line is low. Returns false after the limit.
  public func goesLow(within limit: Duration = .seconds(180)) -> Bool { waits(within: limit) { !$0.isHigh } }

  public var all: [Change] { changes.withLock { $0 } }
  public var isHigh: Bool { all.last?.level ?? false }
  public var rises: [MonotonicInstant] { all.filter(\.level).map(\.at) }
  public var falls: [MonotonicInstant] { all.filter { !$0.level }.map(\.at) }

  /// Discards the history except for the present level.
  public func restart() { changes.withLock { $0 = $0.suffix(1).filter(\.level) } }
}
