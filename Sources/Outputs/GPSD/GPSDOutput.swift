import Guarding
import Hub
import Publishing

/// The gpsd protocol, version 3: what talks to gpsd talks to the hub.
///
/// `?WATCH` subscribes, and so powers the devices until it is switched off or its client leaves. A connection alone,
/// `?POLL`, `?DEVICES`, `?DEVICE` and `?VERSION` observe.
final class GPSDOutput: StreamOutput {
  let host: HubHost
  let activations: GPSDActivations
  /// All objects of one moment, for clients without special requests.
  let moments: GPSDMoments
  /// The same without the attitude, for clients that get it at another rate, or watch only the receiver.
  let momentsOfReceiver: GPSDMoments
  /// Each attitude is encoded once for all clients.
  let attitude = SharedEncoding(lineEnd: "\r\n")

  /// A time without a position that is no pause between two, which one and a half of the receiver's intervals are not
  /// either.
  static let silence = Duration.seconds(5)
  /// Longer than that nothing is a pause: a receiver's time may leap, and it may have slept since its last epoch.
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
    // Some clients wait for it before they say anything.
    session.answerVersion()
    return session
  }

  var hub: Hub { host.hub.value }
  var board: Board { hub.board }
  /// From one of the receiver's epochs to the next, as the clients have seen them.
  var cycleSeconds: Double? { moments.cycleSeconds ?? momentsOfReceiver.cycleSeconds }
  var device: String { hub.gpsdDevice }
}
