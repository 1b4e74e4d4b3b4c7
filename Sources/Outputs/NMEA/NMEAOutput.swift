import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// NMEA 0183 over TCP, as chart plotters read it. Connecting subscribes, and so powers the devices.
final class NMEAOutput: StreamOutput {
  let host: HubHost
  /// What is sent.
  let feed: Board.NMEAFeed
  let fused: FusedFeed
  /// So long without a position is no pause between two.
  let silence: Duration

  init(host: HubHost, feed: Board.NMEAFeed) {
    self.host = host
    self.feed = feed
    fused = FusedFeed(host: host, feed: feed)
    silence = max(GPSDOutput.silence, (feed.interval ?? .zero) * 2)
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = NMEASession(connection, output: self)
    session.start()
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

  func start() {
    let name = "nmea \(connection.peer)"
    switch output.feed.source {
    case .receiver:
      output.host.sentences.subscribe(as: name, receiveValue: { [weak self] in self?.send($0) }).store(in: lifetime)
    case .fused:
      output.host.states(parts: output.feed.parts).subscribe(as: name, receiveValue: { [weak self] in self?.send($0) })
        .store(in: lifetime)
    }
    // Who did not choose the sentence that says so is told nothing.
    if output.feed.sentences.contains("RMC") { remind() }
  }

  private func send(_ sentences: [UInt8]) {
    state.withLock { $0.lastSentence = MonotonicClock().now }
    let chosen = output.feed.sentences.filter(sentences)
    if !chosen.isEmpty { chosen.withUnsafeBufferPointer(connection.send) }
  }

  private func send(_ fused: FusedState) {
    output.fused.withBytes(of: fused) { bytes, statesPosition in
      if statesPosition { state.withLock { $0.lastSentence = MonotonicClock().now } }
      connection.send(bytes)
    }
  }

  /// A sentence a second that says there is no position yet: plotters take a port without data for a dead one.
  private func remind() {
    let now = MonotonicClock().now
    if state.withLock({ $0.lastSentence.map { now - $0 >= output.silence } ?? true }) {
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

extension SentenceChoice {
  /// Those of some whole sentences that are among the chosen, line ends included.
  func filter(_ sentences: [UInt8]) -> [UInt8] {
    if names == nil { return sentences }
    var chosen: [UInt8] = []
    for line in sentences.split(separator: UInt8(ascii: "\n")) where contains(sentence: line) {
      chosen += line
      chosen.append(UInt8(ascii: "\n"))
    }
    return chosen
  }
}
