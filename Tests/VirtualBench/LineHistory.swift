import Guarding
import HardwareIO
import MonotonicTime

/// Watches a line's level from outside and remembers each change.
public final class LineHistory: Sendable {
  public struct Change: Equatable, Sendable {
    /// When the new level was first seen, and when the old one was last: the change came between the two.
    public var at: MonotonicInstant
    public var after: MonotonicInstant
    public var level: Bool
  }

  private let changes = Guarded([Change]())
  private let stop = StopSignal()

  /// How often a line is looked at that may change.
  private static let look = Duration.milliseconds(2)

  /// Looks every two milliseconds.
  ///
  /// - Parameter onChange: called on the watching thread
  public convenience init(
    of level: @escaping @Sendable () -> Bool, onChange: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    self.init(of: level, every: LineHistory.look, activity: nil, onChange: onChange)
  }

  /// Looks as often for a moment after somebody has opened or closed one of some files, and every second whatever happens: for
  /// hours in which nothing does.
  ///
  /// - Parameter files: what whoever changes the level opens, or closes, just before
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
          self?.changes.withLock { $0.append(Change(at: MonotonicClock().now, after: lookedAt, level: now)) }
          onChange(now)
        }
        lookedAt = before
        event = poller.wait(for: activity?.fileDescriptor, atMost: before < closelyUntil ? LineHistory.look : pause)
      } while event != .stopped
    }
    precondition(error == 0, "no thread to watch a line")
  }

  deinit { stop.set() }

  public var all: [Change] { changes.withLock { $0 } }
  public var isHigh: Bool { all.last?.level ?? false }
  public var rises: [MonotonicInstant] { all.filter(\.level).map(\.at) }
  public var falls: [MonotonicInstant] { all.filter { !$0.level }.map(\.at) }

  /// Forgets what was, except the level.
  public func restart() { changes.withLock { $0 = $0.suffix(1).filter(\.level) } }
}
