import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fused state's sentences as they are due, written once for all who get the same.
final class FusedFeed: Sendable {
  private struct State {
    var pace = EpochPace()
    /// When the next ones are due, at a rate of their own.
    var due: MonotonicInstant?
    var lastPosition: MonotonicInstant?
    // An epoch that comes late sets the receiver's time back by that, and neither repeats a time for it.
    var positionTime = GrowingTime()
    var attitudeTime = GrowingTime()
    /// The fix of the state before, whose epoch has been looked at.
    var lastFix: MonotonicInstant?
    /// The receiver's last list of satellites, until it has been sent.
    var sky: GNSSObservation?
    var lastSky: MonotonicInstant?
    /// The last sentence states the board's position, or that it is unknown.
    var statesPosition = false
  }

  /// Satellites move slowly: a list takes as much room as everything else. A little less than a second, so that none of a
  /// receiver's is left out because it came early.
  private static let skyInterval = Duration.milliseconds(900)
  /// A list that could not be sent for this time is outdated.
  private static let skyLifetime = Duration.seconds(5)

  private let host: HubHost
  private let choice: SentenceChoice
  /// `nil` for with each of the receiver's epochs, and once a second without.
  private let interval: Duration?
  private let encoding = SharedEncoding(lineEnd: "\r\n")
  private let state = Guarded(State())

  init(host: HubHost, feed: Board.NMEAFeed) {
    self.host = host
    choice = feed.sentences
    interval = feed.interval
  }

  /// Lends the sentences of a state to `body`, if any are due. A position that has been sent is not sent again.
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
    guard let interval else { return state.pace.take(fused) }
    if let due = state.due {
      guard fused.at >= due else { return false }
      // States come at instants of their own: one that was late does not delay those after it, nor do two come as if they were one.
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
