import Guarding
import HardwareIO
import MonotonicTime

/// Watches a line's level from outside, every two milliseconds, and remembers each change.
public final class LineHistory: Sendable {
  public struct Change: Equatable, Sendable {
    /// When the new level was first seen, and when the old one was last: the change came between the two.
    public var at: MonotonicInstant
    public var after: MonotonicInstant
    public var level: Bool
  }

  private let changes = Guarded([Change]())
  private let stop = StopSignal()

  /// - Parameter onChange: called on the watching thread
  public init(of level: @escaping @Sendable () -> Bool, onChange: @escaping @Sendable (Bool) -> Void = { _ in }) {
    let stop = stop
    let error = DetachedThread.start("line") { [weak self] in
      let poller = Poller(stop: stop.fileDescriptor)
      var last = false
      var lookedAt = MonotonicClock().now
      repeat {
        let before = MonotonicClock().now
        let now = level()
        defer { lookedAt = before }
        guard now != last else { continue }
        last = now
        self?.changes.withLock { $0.append(Change(at: MonotonicClock().now, after: lookedAt, level: now)) }
        onChange(now)
      } while poller.wait(for: nil, atMost: .milliseconds(2)) == .timedOut
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
