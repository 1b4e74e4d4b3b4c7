import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// NMEA 0183 over TCP, as chart plotters read it. A connection is a subscription, so it powers the devices.
final class NMEAOutput: StreamOutput {
  let host: HubHost
  /// The settings of the port: the source, the choice and the rate of the sentences.
  let feed: Board.NMEAFeed
  let fused: FusedFeed
  /// The shortest time without a position after which a receiver counts as silent.
  let silence: Duration

  private struct Epochs {
    /// The start of the receiver's last epoch, and the time between it and the start of the epoch before.
    var last: MonotonicInstant?
    var interval = Duration.zero
  }

  private let epochs = Guarded(Epochs())

  init(host: HubHost, feed: Board.NMEAFeed) {
    self.host = host
    self.feed = feed
    fused = FusedFeed(host: host, feed: feed)
    silence = max(GPSDOutput.silence, (feed.interval ?? .zero) * 2)
  }

  /// The time after which a receiver without a new epoch counts as silent. It is at least one and a half times the
  /// interval of the receiver's epochs, up to `GPSDOutput.longestSilence`.
  ///
  /// - Parameter epoch: the start of the last epoch, if there is one. Each client calls this about once a second
  func silence(since epoch: MonotonicInstant?) -> Duration {
    epochs.withLock { epochs in
      if let epoch, epoch != epochs.last {
        epochs.interval = epochs.last.map { epoch - $0 } ?? .zero
        epochs.last = epoch
      }
      return max(silence, min(epochs.interval * 1.5, GPSDOutput.longestSilence))
    }
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = NMEASession(connection, output: self)
    session.start()
    return session
  }
}

/// A client that reads sentences.
private final class NMEASession: StreamSession {
  private struct State {
    var lastSentence: MonotonicInstant?
    var feed = ReceiverFeed()
    /// Rejects positions that the client already has.
    var positionTime = MonotonicUTCFilter()
  }

  /// The interval of sentences that report no position, and the delay before the first one.
  private static let pause = Duration.seconds(1)

  private let connection: StreamConnection
  private let output: NMEAOutput
  private let lifetime = Lifetime()
  private let reminder: Alarm
  private let state = Guarded(State())

  init(_ connection: StreamConnection, output: NMEAOutput) {
    self.connection = connection
    self.output = output
    reminder = Alarm(clock: MonotonicClock())
  }

  func start() {
    let holder = connection.peer.holder("nmea")
    switch output.feed.source {
    case .receiver:
      output.host.hub.sentences.subscribe(as: holder, receiveValue: { [weak self] in self?.send($0) }).store(
        in: lifetime)
    case .fused:
      output.host.hub.state(parts: output.feed.parts).subscribe(
        as: holder, receiveValue: { [weak self] in self?.send($0) }
      )
      .store(in: lifetime)
      greet()
    }
    // The sentence that reports no position is an RMC, so a feed without RMC does not send it.
    if output.feed.sentences.contains("RMC") { remind(after: NMEASession.pause) }
  }

  /// Sends a new client the present state at once. The next epoch may be seconds away, and the client must not take
  /// the pause for a loss of the fix.
  private func greet() {
    let silence = output.silence(since: latest?.at)
    guard let fused = output.host.hub.presentState(at: output.host.now, within: silence),
      fused.position != nil || fused.fix != nil
    else { return }
    let sentences = Array(FusedSentences.make(of: fused, only: output.feed.sentences).utf8)
    state.withLock { state in
      // The lock is held while sending, so that a concurrent state is sent before or after this one, and no state
      // twice.
      guard state.lastSentence == nil else { return }
      if let position = fused.position {
        state.lastSentence = MonotonicClock().now
        _ = state.positionTime.take(fused.sentenceTime(at: position.at), of: position.at)
      }
      sentences.withUnsafeBufferPointer(connection.send)
    }
  }

  /// The receiver's last epoch.
  private var latest: GNSSObservation? { output.host.hub.receivers.taken?.reader.device.source.latest }

  /// Whether the receiver is silent. The position then counts as unknown.
  private func isSilent(_ now: MonotonicInstant) -> Bool {
    let latest = latest
    var heard = state.withLock { $0.lastSentence }
    // A client that has just connected may have to wait for the next epoch. The receiver is not silent in this time if
    // its last epoch is recent enough.
    if output.feed.source == .receiver, let latest { heard = max(heard ?? latest.receivedAt, latest.receivedAt) }
    let silence = output.silence(since: latest?.at)
    return heard.map { now - $0 >= silence } ?? true
  }

  private func send(_ receiver: ReceiverOutput) {
    let sentences = state.withLock { state in
      let sentences = state.feed.bytes(of: receiver)
      if !sentences.isEmpty { state.lastSentence = MonotonicClock().now }
      return sentences
    }
    let chosen = output.feed.sentences.filter(sentences)
    if !chosen.isEmpty { chosen.withUnsafeBufferPointer(connection.send) }
  }

  private func send(_ fused: FusedState) {
    output.fused.withBytes(of: fused) { bytes, statesPosition in
      state.withLock { state in
        if statesPosition {
          // The present state may have been sent to a new client already.
          if let position = fused.position,
            !state.positionTime.take(fused.sentenceTime(at: position.at), of: position.at)
          {
            return
          }
          state.lastSentence = MonotonicClock().now
        }
        connection.send(bytes)
      }
    }
  }

  /// While the receiver is silent, sends a sentence without a position every second, because chart plotters treat a
  /// silent port as dead.
  private func remind() {
    let now = MonotonicClock().now
    if isSilent(now) {
      Array(FusedSentences.noPosition.utf8).withUnsafeBufferPointer(connection.send)
    }
    remind(after: NMEASession.pause)
  }

  private func remind(after pause: Duration) {
    reminder.set(at: MonotonicClock().now + pause) { [weak self] in self?.remind() }
  }

  /// Ignores sentences from plotters; the hub does not use them.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {}

  func end() {
    reminder.end()
    lifetime.end()
  }
}

extension SentenceChoice {
  /// Returns the chosen sentences with their line ends. `sentences` must contain only complete sentences.
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
