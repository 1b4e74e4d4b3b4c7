/// The owner of a receiver's session. It gets everything that the session learns about the receiver, and answers the
/// questions that depend on the rest of the hub.
///
/// The session calls the delegate on its own thread, and retains it.
public protocol ReceiverSessionDelegate: AnyObject {
  /// Receives an epoch. Epochs also arrive while the receiver is found, identified and configured.
  ///
  /// - Parameter receiver: the reader of the line, whose `speech` is up to date
  func receive(_ observation: borrowing GNSSObservation, from receiver: SerialReceiver)
  /// Receives a warning about the receiver's configuration; `nil` if there is no warning any more.
  func warn(_ warning: String?)
  /// Receives the identity that the receiver has answered; `nil` if the receiver has not answered.
  func identified(_ identity: ReceiverIdentity?)
  /// Receives the receiver's trouble and what the session does about it; `nil` when the receiver works again.
  func restarted(_ trouble: String?)
  /// Whether the supply is on only for the receiver. Otherwise the supply stays on, for example for another device, so
  /// switching it cannot restart the receiver.
  var isSuppliedAlone: Bool { get }
  /// Returns the sleep mode of the receiver while its supply stays on, `nil` for none. The session asks at the end of
  /// a run, if the configuration leaves the choice to the hub.
  func chooseSleep(of driver: ReceiverDriver) -> ReceiverSleep?
}
