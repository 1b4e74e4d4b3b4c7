import Guarding
import Hub
import MonotonicTime

/// Records what is put into its inbox, on a thread of its own, which sleeps while nothing comes.
public final class SegmentRecorder: Sendable {
  private struct State {
    enum Phase { case waiting, running, ended }

    var phase = Phase.waiting
    var whenEnded: Callback?
  }

  public let inbox: RecordInbox
  private let store: any SegmentStore
  private let limits: RecordingLimits
  private let time: RecordingTime
  private let library: String
  private let counters: RecordingCounters
  private let state = Guarded(State())

  /// - Parameters:
  ///   - library: who writes, for the files' headers
  ///   - report: as the inbox's
  public convenience init(
    _ settings: RecordSettings, to store: any SegmentStore, time: RecordingTime, library: String,
    counters: RecordingCounters, report: @escaping @Sendable (RecorderEvent) -> Void
  ) {
    self.init(
      RecordingLimits(settings), to: store, time: time, library: library, counters: counters, report: report)
  }

  /// The same by limits that are in no board file.
  public init(
    _ limits: RecordingLimits, to store: any SegmentStore, time: RecordingTime, library: String,
    counters: RecordingCounters, report: @escaping @Sendable (RecorderEvent) -> Void
  ) {
    inbox = RecordInbox(time: time, counters: counters, report: report)
    self.store = store
    self.limits = limits
    self.time = time
    self.library = library
    self.counters = counters
  }

  /// Starts to write; until then what comes waits.
  public func start() {
    let mustStart = state.withLock { state in
      guard state.phase == .waiting else { return false }
      state.phase = .running
      return true
    }
    guard mustStart else { return }
    let error = DetachedThread.start("recorder") { self.run() }
    if error != 0 {
      inbox.tell(.lacksThread(errno: error))
      ended()
    }
  }

  /// Has everything written and the file finished.
  ///
  /// - Parameter whenEnded: called once that is so, which takes as long as the disk does
  public func end(_ whenEnded: @escaping @Sendable () -> Void) {
    let isRunning = state.withLock { state in
      guard state.phase == .running else {
        state.phase = .ended
        return false
      }
      state.whenEnded = Callback(whenEnded)
      return true
    }
    if isRunning { inbox.end() } else { whenEnded() }
  }

  private func run() {
    var writer = RecordingWriter(
      inbox, to: store, limits: limits, time: time, library: library, counters: counters)
    while !inbox.isEnding {
      switch writer.turn() {
      case .rest: inbox.wake.wait()
      case .until(let deadline):
        let timer = time.clock.schedule(at: deadline) { [wake = inbox.wake] in wake.raise() }
        inbox.wake.wait()
        timer.cancel()
      }
    }
    writer.finish()
    ended()
  }

  private func ended() {
    let whenEnded = state.withLock { state in
      state.phase = .ended
      defer { state.whenEnded = nil }
      return state.whenEnded
    }
    whenEnded?()
  }
}
