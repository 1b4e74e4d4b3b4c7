import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording
import ServiceLifecycle

/// Records what the hub does, where the board file says `record`.
///
/// It only observes what others have woken, unless the board file says that it `wakes`.
public final class RecorderOutput: Service {
  /// What is recorded now.
  private struct Present {
    var settings: RecordSettings
    var recorder: SegmentRecorder
    /// What the hub in service is heard by.
    var listening: Lifetime
  }

  /// A hub that ends waits so long for a disk; what it has not taken by then is lost.
  private static let lastChance = Duration.seconds(5)

  private let host: HubHost
  private let sink: JournalSink
  /// The process's, so that the times of its recordings follow each other.
  private let time = RecordingTime()
  private let present = Guarded<Present?>(nil)

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let hubs = host.hub.subscribe(as: "recorder", receiveValue: { [self] in serve($0) })
    try? await gracefulShutdown()
    hubs.cancel()
    guard let last = takePresent() else { return }
    last.listening.end()
    let end = LastWait()
    await withUnsafeContinuation { continuation in
      end.start(continuation)
      last.recorder.end { end.isOver() }
      let limit = time.clock.now + RecorderOutput.lastChance
      end.hold(time.clock.schedule(at: limit) { end.isOver() })
    }
  }

  private func takePresent() -> Present? {
    present.withLock { present in
      defer { present = nil }
      return present
    }
  }

  /// Called for one hub at a time.
  private func serve(_ hub: Hub) {
    let before = takePresent()
    // First away from the old hub: what both had would be recorded twice.
    before?.listening.end()
    guard let settings = hub.board.record else {
      before?.recorder.end {}
      return
    }
    let recorder: SegmentRecorder
    if let before, before.settings == settings {
      recorder = before.recorder
    } else {
      recorder = makeRecorder(settings)
    }
    let feed = RecordingFeed(
      host: host, sink: sink, time: time, name: "recorder", demand: settings.wakes ? .everything : .nothing)
    present.withLock {
      $0 = Present(settings: settings, recorder: recorder, listening: feed.listen(to: hub, for: recorder.inbox))
    }
    guard let before else { return recorder.start() }
    // The old one may still be at the file that the new one would repair.
    if before.recorder !== recorder { before.recorder.end { recorder.start() } }
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

/// Has a task wait for the first of two ends.
private final class LastWait: Sendable {
  private struct State {
    var continuation: UnsafeContinuation<Void, Never>?
    var limit: ScheduledAction?
  }

  private let state = Guarded(State())

  func start(_ continuation: UnsafeContinuation<Void, Never>) { state.withLock { $0.continuation = continuation } }

  func hold(_ limit: ScheduledAction) {
    let isTooLate = state.withLock { state in
      state.limit = limit
      return state.continuation == nil
    }
    if isTooLate { limit.cancel() }
  }

  func isOver() {
    let (continuation, limit) = state.withLock { state in
      defer { state = State() }
      return (state.continuation, state.limit)
    }
    limit?.cancel()
    continuation?.resume()
  }
}
