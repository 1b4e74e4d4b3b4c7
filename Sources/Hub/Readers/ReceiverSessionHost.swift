import Devices

/// The hub's side of one session of a receiver: gives the receiver's values and warnings to the device, and answers
/// the session's questions about the supply and the sleep mode.
///
/// Use a host on one thread. It must not retain the `SerialReceiver`, because the closure that reports the receiver's
/// counts retains the host.
final class ReceiverSessionHost: ReceiverSessionDelegate {
  private let scope: DeviceScope<GNSSObservation>
  private let identification: ReceiverIdentification
  private let corrections: ReceiverCorrections
  private let counters: ReceiverCounters
  /// The counts of all earlier runs.
  private let before: ReceiverDecoder.Counters
  private var run: ReceiverRun

  init(
    _ scope: DeviceScope<GNSSObservation>, _ run: ReceiverRun, _ identification: ReceiverIdentification,
    _ corrections: ReceiverCorrections, _ counters: ReceiverCounters
  ) {
    self.scope = scope
    self.run = run
    self.identification = identification
    self.corrections = corrections
    self.counters = counters
    before = counters.present
  }

  /// Publishes the counts of this run.
  func look(_ counters: ReceiverDecoder.Counters) {
    self.counters.present = before + counters
    run.look(counters)
  }

  // MARK: ReceiverSessionDelegate

  func receive(_ observation: borrowing GNSSObservation, from receiver: SerialReceiver) {
    identification.heard(receiver.speech)
    corrections.take(observation)
    scope.send(run.take(observation))
  }

  func warn(_ warning: String?) { scope.monitor.setWarning(about: .configuration, warning) }

  func identified(_ identity: ReceiverIdentity?) {
    identification.answered(identity)
    if let uniqueID = identity?.uniqueID { scope.monitor.usageHistory.isOf(uniqueID) }
  }

  func restarted(_ trouble: String?) { scope.monitor.setWarning(about: .restart, trouble) }

  var isSuppliedAlone: Bool { scope.isSuppliedAlone }

  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep? { scope.monitor.chooseSleep(of: driver) }
}
