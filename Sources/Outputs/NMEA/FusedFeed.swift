import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The sentences of the fused state, when they are due. They are written once for all clients with the same choice.
final class FusedFeed: Sendable {
  private struct State {
    var rate = EpochRate()
    /// When the next sentences are due at a fixed rate.
    var due: MonotonicInstant?
    var lastPosition: MonotonicInstant?
    // A late epoch sets the receiver's time back. Neither the position nor the attitude may repeat a time.
    var positionTime = MonotonicUTCFilter()
    var attitudeTime = MonotonicUTCFilter()
    /// The fix of the previous state. Its epoch has already been handled.
    var lastFix: MonotonicInstant?
    /// The receiver's last list of satellites, if it is still unsent.
    var sky: GNSSObservation?
    var lastSky: MonotonicInstant?
    /// Whether the last sentence reports the board's position, or that it is unknown.
    var statesPosition = false
  }

  /// The interval of satellite lists. Satellites move slowly, and a list takes as much room as all other sentences. It
  /// is a little less than a second, so that an early list of a receiver is not dropped.
  private static let skyInterval = Duration.milliseconds(900)
  /// The time after which an unsent list is outdated.
  private static let skyLifetime = Duration.seconds(5)

  private let host: HubHost
  private let choice: SentenceChoice
  /// The interval of sentences. `nil`: they come with each of the receiver's epochs, or once a second if there are no
  /// epochs.
  private let interval: Duration?
  private let encoding = SharedEncoding(lineEnd: "\r\n")
  private let state = Guarded(State())

  init(host: HubHost, feed: Board.NMEAFeed) {
    self.host = host
    choice = feed.sentences
    interval = feed.interval
  }

  /// Passes the sentences of a state to `body`, if any are due. A position is sent only once.
  func withBytes(of fused: FusedState, _ body: (UnsafeBufferPointer<UInt8>, _ statesPosition: Bool) -> Void) {
    encoding.withBytes(at: fused.at, encode: { $0.text(state.withLock { write(fused, &$0) }) }) { bytes in
      if !bytes.isEmpty { body(bytes, state.withLock { $0.statesPosition }) }
    }
  }

  private func write(_ fused: FusedState, _ state: inout State) -> String {
    if fused.fix?.at != state.lastFix {
      state.lastFix = fused.fix?.at
      if let epoch = host.hub.value.receivers.taken?.reader.device.source.latest, !epoch.sky.isEmpty {
        state.sky = epoch
      }
    }
    guard isDue(fused, &state) else { return "" }
    let isOld =
      fused.position.map {
        $0.at == state.lastPosition || !state.positionTime.take(fused.sentenceTime(at: $0.at))
      } ?? false
    state.lastPosition = fused.position?.at
    state.statesPosition = !isOld
    let hasAttitudeTime = fused.attitude.map { state.attitudeTime.take(fused.sentenceTime(at: $0.at)) } ?? false
    return FusedSentences.make(
      of: fused, only: choice, listing: takeSky(fused.at, &state), repeatsPosition: isOld,
      repeatsAttitudeTime: !hasAttitudeTime)
  }

  private func isDue(_ fused: FusedState, _ state: inout State) -> Bool {
    guard let interval else { return state.rate.take(fused) }
    if let due = state.due {
      guard fused.at >= due else { return false }
      // States do not arrive exactly on time. A late state must not delay those after it, nor may two late states
      // follow each other quickly.
      let next = due + interval > fused.at ? due + interval : fused.at + interval
      state.due = max(next, fused.at + interval / 4)
    } else {
      state.due = fused.at + interval
    }
    return true
  }

  private func takeSky(_ now: MonotonicInstant, _ state: inout State) -> GNSSObservation? {
    guard let sky = state.sky, state.lastSky.map({ now - $0 >= FusedFeed.skyInterval }) ?? true else { return nil }
    state.sky = nil
    if now - sky.at > FusedFeed.skyLifetime { return nil }
    state.lastSky = now
    return sky
  }
}

extension Board.NMEAFeed {
  var interval: Duration? { rateHz.map { .nanoseconds(Int64(1e9 / $0)) } }
}
