import Guarding
import Hub
import MonotonicTime

/// Records the contents of its inbox, on its own thread, which sleeps while no messages arrive.
public final class SegmentRecorder: Sendable {
  private struct State {
    enum Phase {
      case waiting
      /// The recorder will start when another one has ended.
      case queued
      case running, ended
    }

    var phase = Phase.waiting
    var whenEnded: [Callback] = []
  }

  public let inbox: RecordInbox
  private let store: any SegmentStore
  private let limits: RecordingLimits
  private let time: RecordingTime
  private let library: String
  private let counters: RecordingCounters
  private let state = Guarded(State())

  /// - Parameters:
  ///   - library: the program's name, for the files' headers
  ///   - report: see `RecordInbox`
  public convenience init(
    _ settings: RecordSettings, to store: any SegmentStore, time: RecordingTime, library: String,
    counters: RecordingCounters, report: @escaping @Sendable (RecorderEvent) -> Void
  ) {
    self.init(
      RecordingLimits(settings), to: store, time: time, library: library, counters: counters, report: report)
  }

  /// Makes a recorder with limits that cannot be set in a board file.
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

  /// Starts to write. Messages that arrive before this wait.
  public func start() { start(from: .waiting) }

  /// Ends another recorder, and starts to write after it has ended. The other recorder may still be writing the file
  /// that this one would repair.
  public func start(after other: SegmentRecorder) {
    let mustWait = state.withLock { state in
      guard state.phase == .waiting else { return false }
      state.phase = .queued
      return true
    }
    if mustWait { other.end { self.start(from: .queued) } }
  }

  private func start(from phase: State.Phase) {
    let mustStart = state.withLock { state in
      guard state.phase == phase else { return false }
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

  /// Writes everything and finishes the file.
  ///
  /// - Parameter whenEnded: called once when the file is finished. This may take long if the disk is slow, or if this
  ///   recorder still waits for another one. A recorder that has not been started calls it at once
  public func end(_ whenEnded: @escaping @Sendable () -> Void) {
    let mustWait = state.withLock { state in
      switch state.phase {
      case .waiting, .ended:
        state.phase = .ended
        return false
      case .queued, .running:
        state.whenEnded.append(Callback(whenEnded))
        return true
      }
    }
    if mustWait { inbox.end() } else { whenEnded() }
  }

  /// Reports the messages that still wait as lost, for a process that ends without waiting for the disk. The recorder's
  /// thread goes on.
  public func giveUp() {
    let isUnderWay = state.withLock { $0.phase == .queued || $0.phase == .running }
    if isUnderWay { inbox.giveUp() }
  }

  private func run() {
    var writer = RecordingWriter(
      inbox, to: store, limits: limits, time: time, library: library, counters: counters)
    while !inbox.isEnding {
      switch writer.turn() {
      case .rest(until: nil): inbox.wake.wait()
      case .rest(until: let deadline?), .until(let deadline):
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
      defer { state.whenEnded = [] }
      return state.whenEnded
    }
    for callback in whenEnded { callback() }
  }
}
