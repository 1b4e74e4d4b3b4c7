/// What a maker's receivers understand and say. The receiver's body, which all have in common, is handed to it with each call.
protocol ReceiverLanguage: Sendable {
  /// It has begun: after its supply came, a reset or a sleep that its settings did not outlast.
  mutating func begin(_ body: inout ReceiverBody)
  /// A command has arrived whole.
  mutating func take(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// Says no to a command in the protocol's manner.
  func refuse(_ command: ReceivedCommand, _ body: inout ReceiverBody)
  /// An epoch's messages.
  mutating func report(_ solution: Solution, _ body: inout ReceiverBody)
  /// Something has come over the line while it slept.
  mutating func wake(_ body: inout ReceiverBody)
  /// More bytes were garbled than this; true where the receiver stops listening then.
  func isDeafened(by frameErrors: Int) -> Bool
  /// What it says of that.
  func deafNote() -> [UInt8]
  /// Its supply has gone, and the backup supply too unless that is held.
  mutating func lostPower(isBackedUp: Bool)
  /// Somebody has left its port at another speed, for good.
  mutating func leave(at speed: Int, _ body: inout ReceiverBody)
}

extension ReceiverLanguage {
  func isDeafened(by frameErrors: Int) -> Bool { false }
  func deafNote() -> [UInt8] { [] }
}
