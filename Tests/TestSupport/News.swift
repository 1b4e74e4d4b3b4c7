import Publishing

/// Lets a test wait for a condition that no single value shows, for example one about several devices. The test's thread
/// sleeps, and checks the condition again after each event that it follows.
///
/// Follow publishers whose last value comes when the condition is met, or after that.
///
/// ```swift
/// let news = News()
/// for monitor in hub.monitors { news.follow(monitor.changes) }
/// #expect(news.waits { hub.devices.allSatisfy { $0.power == .off } })
/// ```
public final class News: Sendable {
  private let events = Recorder<Void>()
  private let following = Lifetime()

  public init() {}

  deinit { following.end() }

  /// Counts each value of a publisher as an event.
  public func follow(_ publisher: some Publisher) {
    publisher.subscribe(as: "test", receiveValue: { [events] _ in events.append(()) }).store(in: following)
  }

  /// Reports an event.
  public func came() { events.append(()) }

  /// Blocks until the condition is met, as `Recorder.waits`.
  ///
  /// - Returns: whether the condition was met before the deadline
  public func waits(until isMet: () throws -> Bool) rethrows -> Bool { try events.waits { _ in try isMet() } }
}
