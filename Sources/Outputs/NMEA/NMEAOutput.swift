import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// NMEA 0183 over TCP, as chart plotters read it. Connecting subscribes, and so powers the devices.
final class NMEAOutput: StreamOutput {
  let host: HubHost
  let feed: FusedFeed

  init(host: HubHost) {
    self.host = host
    feed = FusedFeed(host: host)
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = NMEASession(connection, output: self)
    session.start(host.hub.value.board.nmea?.source ?? .receiver)
    return session
  }
}

/// One client that reads sentences.
private final class NMEASession: StreamSession {
  private struct State {
    var lastSentence: MonotonicInstant?
    var reminder: ScheduledAction?
    var isOver = false
  }

  private let connection: StreamConnection
  private let output: NMEAOutput
  private let lifetime = Lifetime()
  private let state = Guarded(State())

  init(_ connection: StreamConnection, output: NMEAOutput) {
    self.connection = connection
    self.output = output
  }

  func start(_ source: Board.NMEAPort.Source) {
    let name = "nmea \(connection.peer)"
    switch source {
    case .receiver:
      output.host.sentences.subscribe(
        as: name,
        receiveValue: { [weak self] sentences in
          self?.state.withLock { $0.lastSentence = MonotonicClock().now }
          if let self { sentences.withUnsafeBufferPointer(self.connection.send) }
        }
      ).store(in: lifetime)
    case .fused:
      output.host.states.subscribe(as: name, receiveValue: { [weak self] in self?.send($0) }).store(in: lifetime)
    }
    remind()
  }

  private func send(_ fused: FusedState) {
    output.feed.withBytes(of: fused) { bytes, statesPosition in
      if statesPosition { state.withLock { $0.lastSentence = MonotonicClock().now } }
      connection.send(bytes)
    }
  }

  /// A sentence a second that says there is no position yet: plotters take a port without data for a dead one.
  private func remind() {
    let now = MonotonicClock().now
    if state.withLock({ $0.lastSentence.map { now - $0 >= GPSDOutput.silence } ?? true }) {
      Array(FusedSentences.noPosition.utf8).withUnsafeBufferPointer(connection.send)
    }
    let next = MonotonicClock().schedule(at: now + .seconds(1)) { [weak self] in self?.remind() }
    let isTooLate = state.withLock { state in
      if !state.isOver { state.reminder = next }
      return state.isOver
    }
    if isTooLate { next.cancel() }
  }

  /// Plotters send sentences of their own; there is nobody here to read them.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {}

  func end() {
    let reminder = state.withLock { state in
      state.isOver = true
      return state.reminder
    }
    reminder?.cancel()
    lifetime.end()
  }
}
