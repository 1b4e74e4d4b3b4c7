import CLinux
import Glibc
import Guarding
import MonotonicTime
import Synchronization

/// Waits on a reader's thread until a device is ready, the thread must stop, or a time has passed.
public struct Poller: Sendable {
  public enum Event: Equatable, Sendable {
    case readable
    case stopped
    case timedOut
  }

  /// The longest single call of `poll`, which counts milliseconds in 32 bits (24.8 days). Longer waits consist of
  /// several calls.
  private static let longestPoll = Duration.seconds(3600)

  private let stop: Int32
  private let clock: any MonotonicTimeSource
  private let progress: ReaderProgress?

  /// - Parameters:
  ///   - stop: a descriptor that becomes readable when the thread must stop; it ends this wait and all later waits
  ///   - progress: notified when a wait begins and when it ends
  public init(stop: Int32, clock: any MonotonicTimeSource = MonotonicClock(), progress: ReaderProgress? = nil) {
    self.stop = stop
    self.clock = clock
    self.progress = progress
  }

  /// A poller that ignores the stop signal, for work that must be completed once begun.
  public var unstoppable: Poller { Poller(stop: -1, clock: clock, progress: progress) }

  /// Waits for the time that a chip needs, even if the thread must stop: a chip ignores a command that comes too early,
  /// for example the command to sleep.
  public func pause(_ time: Duration) { _ = unstoppable.wait(for: nil, atMost: time) }

  /// Waits for a descriptor to become readable, or for its line to hang up.
  ///
  /// - Parameters:
  ///   - descriptor: the descriptor; `nil` to wait only for time to pass
  ///   - other: a second descriptor; the caller finds out by reading which of the two is ready
  ///   - limit: the longest wait; `nil` for no limit
  public func wait(for descriptor: Int32?, or other: Int32? = nil, atMost limit: Duration? = nil) -> Event {
    wait(for: descriptor, to: POLLIN, or: other ?? -1, atMost: limit) ?? .readable
  }

  /// Waits until a descriptor is readable or a signal is raised. If only the signal is raised, it is lowered.
  ///
  /// - Returns: `nil` if only the signal was raised
  public func wait(for descriptor: Int32, or signal: WakeSignal, atMost limit: Duration? = nil) -> Event? {
    let event = wait(for: descriptor, to: POLLIN, or: signal.fileDescriptor, atMost: limit)
    if event == nil { signal.clear() }
    return event
  }

  /// Waits until a descriptor accepts bytes.
  ///
  /// - Returns: whether the descriptor accepts bytes; if not, the limit has passed or the thread must stop
  public func waitToWrite(to descriptor: Int32, atMost limit: Duration) -> Bool {
    wait(for: descriptor, to: POLLOUT, or: -1, atMost: limit) == .readable
  }

  /// Waits for the next tick of a kernel timer.
  ///
  /// - Returns: `false` if the thread must stop
  public func wait(for timer: IntervalTimer) throws(HardwareError) -> Bool {
    switch wait(for: timer.fileDescriptor, atMost: timer.interval + IntervalTimer.patience) {
    case .readable: return true
    case .stopped: return false
    case .timedOut: throw .timedOut("the kernel's timer")
    }
  }

  /// Whether the thread must stop.
  public var isStopped: Bool { wait(for: nil, atMost: .zero) == .stopped }

  private func wait(for descriptor: Int32?, to events: Int32, or signal: Int32, atMost limit: Duration?) -> Event? {
    var descriptors: (pollfd, pollfd, pollfd) = (
      pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor ?? -1, events: Int16(events), revents: 0),
      pollfd(fd: signal, events: Int16(POLLIN), revents: 0)
    )
    let deadline = limit.map { clock.now + $0 }
    progress?.beginsToWait(atMost: limit)
    defer { progress?.goesOn() }
    while true {
      // The time is rounded up. Otherwise `poll` would return early and then spin until the deadline.
      let milliseconds = deadline.map {
        (max(.zero, min($0 - clock.now, Poller.longestPoll)).inNanoseconds + 999_999) / 1_000_000
      }
      let count = withUnsafeMutablePointer(to: &descriptors) { pointer in
        pointer.withMemoryRebound(to: pollfd.self, capacity: 3) { poll($0, 3, milliseconds.map(Int32.init) ?? -1) }
      }
      if descriptors.0.revents != 0 { return .stopped }
      if descriptors.1.revents != 0 { return .readable }
      if descriptors.2.revents != 0 { return nil }
      if count == 0, let deadline, clock.now >= deadline { return .timedOut }
      if count < 0, errno != EINTR { return .timedOut }
    }
  }
}

/// A periodic timer that `poll` can wait for.
public final class IntervalTimer: Sendable {
  /// The file descriptor for `poll`, readable once an interval has passed.
  public let fileDescriptor: Int32
  let interval: Duration
  /// How late an expiration may be. After that the timer counts as stopped.
  static let patience = Duration.seconds(1)

  public init(every interval: Duration, from start: MonotonicInstant) throws(HardwareError) {
    self.interval = interval
    fileDescriptor = clinux_timerfd()
    guard fileDescriptor >= 0 else { throw .system("creating a timer", errno: errno) }
    _ = clinux_timerfd_arm(fileDescriptor, (start + interval).nanoseconds, interval.inNanoseconds)
  }

  deinit { close(fileDescriptor) }

  /// Returns the number of intervals that have passed since the last call.
  public func takeExpirations() -> Int {
    var expirations: UInt64 = 0
    return read(fileDescriptor, &expirations, 8) == 8 ? Int(clamping: expirations) : 0
  }
}

/// The progress of a reader's thread, which a supervisor on another thread observes.
///
/// A reader waits only in its poller. A thread that stays outside its poller too long hangs, for example in a call to
/// the kernel. A thread that stays in its poller longer than intended hangs too. Each wait causes a notification when
/// it begins and one when it ends. A notification costs only one atomic addition and at most one store.
public final class ReaderProgress: Sendable {
  private let steps = Atomic<UInt64>(0)
  /// The longest intended wait in nanoseconds.
  private let longestWait = Atomic<Int64>(.max)

  public init() {}

  /// A count of notifications. It is odd while the thread waits in its poller.
  public var stepCount: UInt64 { steps.load(ordering: .acquiring) }

  /// The longest time that the thread intends to wait in its poller; `nil` if unlimited. The value has no meaning
  /// before the thread starts.
  public var waitLimit: Duration? {
    let limit = longestWait.load(ordering: .relaxed)
    return limit == .max ? nil : .nanoseconds(limit)
  }

  func beginsToWait(atMost limit: Duration?) {
    longestWait.store(limit?.inNanoseconds ?? .max, ordering: .relaxed)
    steps.wrappingAdd(1, ordering: .releasing)
  }

  func goesOn() { steps.wrappingAdd(1, ordering: .relaxed) }
}
