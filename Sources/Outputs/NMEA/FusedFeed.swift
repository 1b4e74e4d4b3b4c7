import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Writes the sentences of the fused state when they are due, once for all clients of the feed.
final class FusedFeed: Sendable {
  private struct State {
    var rate = EpochRate()
    /// When the next sentences are due at a fixed rate.
    var due: MonotonicInstant?
    var lastPosition: MonotonicInstant?
    // The UTC of a state can step back when an epoch arrives late. No position and no attitude is sent with a time that
    // was already sent.
    var positionTime = MonotonicUTCFilter()
    var attitudeTime = MonotonicUTCFilter()
    /// The instant of the previous state's fix. Its epoch was already checked for satellites.
    var lastFix: MonotonicInstant?
    /// The receiver's last epoch with satellites; `nil` once the list is sent.
    var sky: GNSSObservation?
    var lastSky: MonotonicInstant?
    /// Whether the last sentences contain a new position, or report that the position is unknown.
    var statesPosition = false
  }

  /// The shortest time between two satellite lists. Satellites move slowly, and a list takes as much room as all other
  /// sentences. The time is a little less than a second, so that a list that arrives slightly early is not dropped.
  private static let skyInterval = Duration.milliseconds(900)
  /// The time after which an unsent list is outdated.
  private static let skyLifetime = Duration.seconds(5)

  private let host: HubHost
  private let choice: SentenceChoice
  /// The interval between sentences. `nil`: sentences follow each of the receiver's epochs, or come once a second if
  /// there are no epochs.
  private let interval: Duration?
  private let encoding = SharedEncoding(lineEnd: "\r\n")
  private let state = Guarded(State())

  init(host: HubHost, feed: Board.NMEAFeed) {
    self.host = host
    choice = feed.sentences
    interval = feed.interval
  }

  /// Passes the sentences of a state to `body`, if any are due. A position is sent only once. `statesPosition` is false
  /// if the position was already sent and is therefore omitted.
  func withBytes(of fused: FusedState, _ body: (UnsafeBufferPointer<UInt8>, _ statesPosition: Bool) -> Void) {
    encoding.withBytes(at: fused.at, encode: { $0.text(state.withLock { write(fused, &$0) }) }) { bytes in
      if !bytes.isEmpty { body(bytes, state.withLock { $0.statesPosition }) }
    }
  }

  private func write(_ fused: FusedState, _ state: inout State) -> String {
    if fused.fix?.at != state.lastFix {
      state.lastFix = fused.fix?.at
      if let epoch = host.hub.receivers.taken?.reader.device.source.latest, !epoch.sky.isEmpty {
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
      // States do not arrive exactly on time. A late state must not delay later ones. At least a quarter of the
      // interval passes between the sentences of a late state and the next ones.
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
