import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording
import ServiceLifecycle

/// Records the data of the hub, if the board file has `record`.
///
/// By default it only observes devices that other clients keep awake. With `wakes` in the board file, it keeps
/// devices awake itself.
public final class RecorderOutput: Service {
  /// The present recording.
  private struct Present {
    var settings: RecordSettings
    var recorder: SegmentRecorder
    /// The subscriptions for the board in service.
    var listening: RecordingFeed.Listening
  }

  /// A recorder that is still writing its remaining data.
  private struct Leaving {
    var path: String
    var recorder: SegmentRecorder
  }

  private struct State {
    var boards: Subscription?
    var present: Present?
    var leaving: [Leaving] = []
    /// Whether the output has ended. No recording may begin after that, because nothing would end it.
    var isOver = false
  }

  /// How long an ending hub waits for a disk. Data that is unwritten after this time is lost.
  private static let lastChance = Duration.seconds(5)

  private let host: HubHost
  private let sink: JournalSink
  /// The clock of all recordings of this process, so that their times can be compared.
  private let time = RecordingTime()
  private let state = Guarded(State())

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  /// Starts recording. Call this before other services wake devices; otherwise a replay would lack the first inputs
  /// of the fusion.
  public func begin() {
    let boards = host.hub.registry.subscribe(as: "recorder", receiveValue: { [self] in serve($0.board) })
    state.withLock { $0.boards = boards }
    host.recordingSaver.withLock { $0 = Callback { [weak self] in self?.save() } }
  }

  public func run() async throws {
    await untilShutdown()
    let boards = state.withLock { $0.boards }
    boards?.cancel()
    let last = state.withLock { state in
      state.isOver = true
      defer { state.present = nil }
      return (present: state.present, leaving: state.leaving.map(\.recorder))
    }
    last.present?.listening.end()
    let recorders = last.leaving + [last.present?.recorder].compactMap { $0 }
    guard !recorders.isEmpty else { return }
    let end = LastWait(count: recorders.count, limit: Alarm(clock: time.clock))
    await withUnsafeContinuation { continuation in
      end.start(continuation)
      for recorder in recorders { recorder.end { end.hasEnded() } }
      end.end(at: time.clock.now + RecorderOutput.lastChance)
    }
    for recorder in recorders { recorder.giveUp() }
  }

  /// Writes everything to the disk. Returns once it is there, or after `lastChance`.
  private func save() {
    guard let recorder = state.withLock({ $0.isOver ? nil : $0.present?.recorder }) else { return }
    let saved = WakeSignal()
    let limit = time.clock.schedule(at: time.clock.now + RecorderOutput.lastChance) { saved.raise() }
    recorder.save { saved.raise() }
    // Without a descriptor, the wait would never end.
    if saved.fileDescriptor >= 0 { saved.wait() }
    limit.cancel()
  }

  /// Starts to record a board's devices, and ends the recording of the previous board's.
  private func serve(_ board: Board) {
    let before = state.withLock { $0.present }
    let next = board.record.map { settings in
      let same = before.flatMap { $0.settings == settings ? $0 : nil }
      let recorder = same?.recorder ?? makeRecorder(settings)
      let feed = RecordingFeed(
        host: host, sink: sink, time: time, holder: "recorder", demand: settings.wakes ? .everything : .nothing)
      return Present(
        settings: settings, recorder: recorder,
        listening: feed.listen(for: recorder.inbox, continuing: same?.listening))
    }
    // Another recorder begins before the previous one ends, so that no device is switched off in between.
    if next?.recorder !== before?.recorder { before?.listening.end() }
    let isInTime = state.withLock { state in
      // `run` has already ended all recordings, and would not end this one.
      guard !state.isOver else { return false }
      state.present = next
      if let before, before.recorder !== next?.recorder {
        state.leaving.append(Leaving(path: before.settings.path, recorder: before.recorder))
      }
      return true
    }
    guard isInTime else {
      next?.listening.end()
      return
    }
    guard before?.recorder !== next?.recorder else { return }
    // The next recorder must be waiting for the previous one before the previous one is told to end.
    if let next { start(next) }
    if let before { end(before.recorder) }
  }

  private func end(_ recorder: SegmentRecorder) {
    recorder.end { [self] in state.withLock { $0.leaving.removeAll { $0.recorder === recorder } } }
  }

  /// Starts the recorder at once, unless an earlier one still uses the same folder. A recorder that still writes to
  /// another folder does not delay it.
  private func start(_ next: Present) {
    let before = state.withLock { $0.leaving.last { $0.path == next.settings.path }?.recorder }
    if let before { next.recorder.start(after: before) } else { next.recorder.start() }
  }

  private func makeRecorder(_ settings: RecordSettings) -> SegmentRecorder {
    SegmentRecorder(
      settings, to: SegmentFolder(path: settings.path), time: time, library: "sensorhub \(host.version)",
      counters: host.recording,
      report: { [sink] event in
        let line = event.line(settings.path)
        sink.write(line.priority, line.text, fields: [.init("SENSORHUB_EVENT", "recording")])
      })
  }
}

/// Makes a task wait until all recorders have ended, or the time for that is over.
private final class LastWait: Sendable {
  private struct State {
    var count: Int
    var continuation: UnsafeContinuation<Void, Never>?
  }

  private let state: Guarded<State>
  private let limit: Alarm

  init(count: Int, limit: Alarm) {
    state = Guarded(State(count: count))
    self.limit = limit
  }

  func start(_ continuation: UnsafeContinuation<Void, Never>) { state.withLock { $0.continuation = continuation } }

  func end(at deadline: MonotonicInstant) { limit.set(at: deadline) { [self] in isOver() } }

  func hasEnded() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.count == 0
    }
    if isLast { isOver() }
  }

  private func isOver() {
    let continuation = state.withLock { state in
      defer { state.continuation = nil }
      return state.continuation
    }
    limit.end()
    continuation?.resume()
  }
}
