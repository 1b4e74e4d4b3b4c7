import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The gpsd protocol, version 3, so that clients of gpsd work with the hub.
///
/// `?WATCH` subscribes, and so powers the devices until the watch is switched off or its client leaves. A connection
/// alone, `?POLL`, `?DEVICES`, `?DEVICE` and `?VERSION` only observe.
final class GPSDOutput: StreamOutput {
  let host: HubHost
  let activations: GPSDActivations
  /// Encodes the objects of each state, the attitude included, for clients that watch all devices and request no rate
  /// of attitudes.
  let moments: GPSDMoments
  /// Encodes the same objects without the attitude. They are for clients that receive the attitude at another rate or
  /// watch only the selected receiver, and for boards without a receiver.
  let momentsOfReceiver: GPSDMoments
  /// Each attitude is encoded once for all clients.
  let attitude = SharedEncoding(lineEnd: "\r\n")

  /// A receiver counts as silent if it has sent no position for the longer of this time and one and a half times the
  /// interval of its epochs.
  static let silence = Duration.seconds(5)
  /// After this time without a position a receiver counts as silent, whatever its interval. The measured interval may
  /// be wrong: the receiver's time may have jumped, or the receiver may have slept between two epochs.
  static let longestSilence = Duration.seconds(30)
  var silence: Duration {
    max(GPSDOutput.silence, min(.seconds(1.5 * (cycleSeconds ?? 0)), GPSDOutput.longestSilence))
  }

  init(host: HubHost) {
    self.host = host
    activations = GPSDActivations(host)
    moments = GPSDMoments(host: host, includesAttitude: true)
    momentsOfReceiver = GPSDMoments(host: host, includesAttitude: false)
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = GPSDSession(connection, output: self)
    // Some clients wait for the version before they send anything.
    session.answerVersion()
    return session
  }

  var hub: Hub { host.hub }
  var board: Board { hub.board }
  /// The time in seconds from one of the receiver's epochs to the next, as either group of clients has seen it; `nil`
  /// before the second epoch.
  var cycleSeconds: Double? { moments.cycleSeconds ?? momentsOfReceiver.cycleSeconds }
  var device: String { hub.gpsdDevice }

  /// The present state; `nil` if its position is too old.
  var presentState: FusedState? { hub.presentState(at: host.now, within: silence) }

  /// The last epoch of a receiver that is awake; `nil` if it is too old.
  func latestEpoch(of id: String) -> GNSSObservation? {
    let receiver = hub.receivers.candidates.first { $0.description.id == id }
    return receiver?.reader.device.source.latest.flatMap { host.now - $0.at < silence ? $0 : nil }
  }
}
