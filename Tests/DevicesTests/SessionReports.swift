import Devices
import TestSupport

/// Records what sessions of a receiver report, in order. The receiver's supply is on for it alone, and the hub chooses
/// no sleep mode.
final class SessionReports: ReceiverSessionDelegate, Sendable {
  let observations = Recorder<GNSSObservation>()
  let warnings = Recorder<String?>()
  /// The identities of the receiver.
  let identities = Recorder<ReceiverIdentity?>()
  /// The reasons and kinds of the receiver's restarts.
  let restarts: Recorder<String?>
  private let received: @Sendable (_ count: Int) -> Void

  /// - Parameter received: called after each observation with the number of all observations
  init(
    _ restarts: Recorder<String?> = Recorder(), received: @escaping @Sendable (_ count: Int) -> Void = { _ in }
  ) {
    self.restarts = restarts
    self.received = received
  }

  func receive(_ observation: borrowing GNSSObservation, from receiver: SerialReceiver) {
    observations.append(copy observation)
    received(observations.values.count)
  }

  func warn(_ warning: String?) { warnings.append(warning) }
  func identified(_ identity: ReceiverIdentity?) { identities.append(identity) }
  func restarted(_ trouble: String?) { restarts.append(trouble) }
  var isSuppliedAlone: Bool { true }
  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep? { nil }
}
