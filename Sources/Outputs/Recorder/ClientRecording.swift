import Glibc
import Guarding
import Hub
import MCAP
import Publishing
import Recording

/// A recording for one client. It lasts from the request until the client has received the end of the file, or has
/// left.
final class ClientRecording: Sendable {
  private struct State {
    var recorder: SegmentRecorder?
    var boards: Subscription?
    /// The subscriptions for the board in service.
    var listening: RecordingFeed.Listening?
    var isEnding = false
  }

  private let host: HubHost
  private let sink: JournalSink
  /// The holder, for example `record[812]`.
  private let holder: Holder
  private let descriptor: Int32
  private let whenOver: @Sendable (ClientRecording) -> Void
  private let state = Guarded(State())

  /// - Parameters:
  ///   - descriptor: the connection, which this recording owns and closes at its end
  ///   - whenOver: called once, just before the connection is closed
  init(
    host: HubHost, sink: JournalSink, holder: Holder, descriptor: Int32,
    whenOver: @escaping @Sendable (ClientRecording) -> Void
  ) {
    self.host = host
    self.sink = sink
    self.holder = holder
    self.descriptor = descriptor
    self.whenOver = whenOver
  }

  func begin(_ request: RecordRequest) {
    // The recording reads the system clock now, because the clock may have been set since the hub's start.
    let time = RecordingTime()
    let feed = RecordingFeed(host: host, sink: sink, time: time, holder: holder, demand: request.demand)
    let recorder = SegmentRecorder(
      .oneFile(synchronizeInterval: request.syncInterval), to: ClientStore(descriptor), time: time,
      library: "sensorhub \(host.version)", counters: RecordingCounters(),
      report: { [weak self] in self?.hear($0) })
    state.withLock { $0.recorder = recorder }
    // While another thread tells a slow subscriber of the board, this recording hears of it later, perhaps after its
    // client has ended it.
    recorder.inbox.set(feed.facts())
    let boards = host.hub.registry.subscribe(
      as: holder, receiveValue: { [weak self] _ in self?.listen(by: feed, for: recorder.inbox) })
    state.withLock { $0.boards = boards }
    recorder.start()
  }

  /// Starts to record a board's devices, and ends the recording of the previous board's.
  private func listen(by feed: RecordingFeed, for inbox: RecordInbox) {
    let before = state.withLock { state in
      defer { state.listening = nil }
      return state.listening
    }
    let listening = feed.listen(for: inbox, continuing: before)
    let isTooLate = state.withLock { state in
      if !state.isEnding { state.listening = listening }
      return state.isEnding
    }
    if isTooLate { listening.end() }
  }

  /// Sends the client the remaining data and the end of the file, as fast as the client reads. Later calls do
  /// nothing.
  func end() {
    let last = state.withLock { state in
      let last = state
      state = State(isEnding: true)
      return last
    }
    guard !last.isEnding else { return }
    // Devices that woke for this recording may sleep now, even if the client still reads slowly.
    last.boards?.cancel()
    last.listening?.end()
    guard let recorder = last.recorder else { return isOver() }
    recorder.end { self.isOver() }
  }

  private func isOver() {
    // A client that sees the end may request the next recording at once, and its slot must be free by then.
    whenOver(self)
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  private func hear(_ event: RecorderEvent) {
    let isEnding = state.withLock { $0.isEnding }
    switch event {
    case .failed(let error):
      if case .system(_, ETIMEDOUT) = error {
        write(.warning, "stopped, because the client has read nothing for a minute")
      }
      end()
    case .lacksThread(let errno):
      write(.error, "cannot start a thread for the recording: \(String(cString: strerror(errno)))")
      end()
    // While the recording ends, losses are not reported, because the client is leaving.
    case .losing where !isEnding: write(.warning, "records are lost: the client reads too slowly")
    case .lost(let count):
      host.traffic.record.valuesDropped(count)
      if !isEnding {
        write(.warning, "the client reads again; \(count) \(count == 1 ? "record is" : "records are") missing")
      }
    case .losing, .ended, .began, .recovered, .repaired, .notRepaired, .notCompressed, .removedForRoom: break
    }
  }

  private func write(_ priority: JournalSink.Priority, _ text: String) {
    sink.write(priority, "the recording for \(holder.label): \(text)", fields: [.init("SENSORHUB_EVENT", "recording")])
  }
}
