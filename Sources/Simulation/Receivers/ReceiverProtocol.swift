/// The protocol of a maker's receivers. Each call receives the `ReceiverBody`, which contains the parts that all
/// receivers share.
protocol ReceiverProtocol: Sendable {
  /// Called when the receiver has booted, after its supply came on, after a reset, or after a sleep that loses its
  /// settings.
  mutating func begin(_ body: inout ReceiverBody)
  /// Called when a complete command has arrived.
  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// Rejects a command in the manner of the protocol.
  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// Sends the messages of an epoch.
  mutating func report(_ solution: Solution, _ body: inout ReceiverBody)
  /// Called when standby ends, after its duration or by bytes on the UART.
  mutating func wake(_ body: inout ReceiverBody)
  /// Whether a receiver of this kind ignores its input after this number of frame errors.
  func isDeafened(by frameErrors: Int) -> Bool
  /// The message with which a receiver announces that it ignores its input.
  func deafNote() -> [UInt8]
  /// Called when the main supply has gone off. The backup supply is off as well unless `isBackedUp`.
  mutating func lostPower(isBackedUp: Bool)
  /// Called when another program has permanently changed the speed of the port.
  mutating func leave(at speed: Int, _ body: inout ReceiverBody)
}

extension ReceiverProtocol {
  func isDeafened(by frameErrors: Int) -> Bool { false }
  func deafNote() -> [UInt8] { [] }
}
