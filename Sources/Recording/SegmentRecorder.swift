import Guarding
import Hub
import MCAP
import MonotonicTime
import Synchronization

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
    var whenSaved: [Callback] = []
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

  /// Writes everything to the disk now, because the machine may lose its supply.
  ///
  /// - Parameter whenSaved: called once; at once if the recorder does not run
  public func save(_ whenSaved: @escaping @Sendable () -> Void) {
    let mustWait = state.withLock { state in
      guard state.phase == .running else { return false }
      state.whenSaved.append(Callback(whenSaved))
      return true
    }
    if mustWait { inbox.wake.raise() } else { whenSaved() }
  }

  /// Reports the messages that still wait as lost, for a process that ends without waiting for the disk. The recorder's
  /// thread continues.
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
      saveIfAsked(&writer)
    }
    writer.finish()
    ended()
  }

  private func saveIfAsked(_ writer: inout RecordingWriter) {
    let whenSaved = state.withLock { state in
      defer { state.whenSaved = [] }
      return state.whenSaved
    }
    if whenSaved.isEmpty { return }
    writer.save()
    for callback in whenSaved { callback() }
  }

  private func ended() {
    let whenEnded = state.withLock { state in
      state.phase = .ended
      defer { (state.whenEnded, state.whenSaved) = ([], []) }
      return state.whenSaved + state.whenEnded
    }
    for callback in whenEnded { callback() }
  }
}

/// An event that a recorder reports. A lasting condition is reported when it begins and when it ends.
public enum RecorderEvent: Equatable, Sendable {
  /// The reason why messages are lost.
  public enum Loss: Equatable, Sendable {
    /// Messages come faster than they are written, and the oldest waiting ones are dropped.
    case slow
    /// Nothing can be written, so more messages wait than the queue can hold; or the disk has lost messages that were
    /// written.
    case failing
  }

  /// The recording's first file was opened.
  case began(segment: String)
  /// A segment of a previous hub was repaired.
  case repaired(segment: String, messageCount: UInt64, lostByteCount: UInt64)
  case notRepaired(segment: String, MCAPError)
  /// The recording is not compressed, although the board file requests it.
  case notCompressed(MCAPError)
  /// Nothing can be written; the recorder tries again.
  case failed(MCAPError)
  /// Writing works again.
  case recovered
  /// The disk is full, so the oldest segment was removed although the budget had room for it.
  case removedForRoom(segment: String)
  case losing(Loss)
  /// The loss has ended; this number of messages was lost.
  case lost(messageCount: Int)
  /// The recording has ended, and this number of messages could not be written.
  case ended(lostMessageCount: Int)
  /// The system could not start a thread.
  case lacksThread(errno: Int32)
}

/// The counts of all recordings of a process.
public final class RecordingCounters: Sendable {
  private let bytes = Atomic(0)
  private let messages = Atomic(0)
  private let segments = Atomic(0)

  public init() {}

  /// The number of bytes that were written to segments.
  public var byteCount: Int { bytes.load(ordering: .relaxed) }
  public var lostMessageCount: Int { messages.load(ordering: .relaxed) }
  /// The number of segments in the folder, as of the last time that a segment was begun or removed.
  public var segmentCount: Int { segments.load(ordering: .relaxed) }

  func wrote(byteCount: Int) { bytes.add(byteCount, ordering: .relaxed) }
  func lost(messageCount: Int) { messages.add(messageCount, ordering: .relaxed) }
  func set(segmentCount: Int) { segments.store(segmentCount, ordering: .relaxed) }
}
