import UBX

/// A conversation that makes a receiver of protocol 27 or newer send its solution ten times a second.
struct FastSolutions: ~Copyable {
  /// The state after the bytes that have arrived.
  enum State: Equatable {
    case waiting
    case accepted
    /// The receiver refuses the settings, or has no settings by key.
    case refused
  }

  private(set) var state = State.waiting
  private var framer = BinaryFramer()

  /// The message to write to the receiver. The settings are lost when the receiver loses its supply.
  let request = UBXMessage.set(
    [
      UBXSetting(.measurementMilliseconds, 100),
      UBXSetting(UBXPort.uart1.sendsUBX, true),
      UBXSetting(UBXPort.uart1.sendsNMEA, false),
    ] + FastSolutions.rates, in: .ram)

  private static var rates: [UBXSetting] {
    // One message in each epoch. `rate(of:)` is `nil` for messages that older generations send.
    [UBXOutput.navPVT, .navEOE].compactMap { output in
      UBXPort.uart1.rate(of: output).map { UBXSetting($0, 1) }
    }
  }

  /// Takes the bytes that one read returned. Other messages of the receiver may come before its answer.
  mutating func take(_ bytes: [UInt8]) {
    var answer: UBXAcknowledgement?
    bytes.withUnsafeBufferPointer { bytes in
      framer.push(bytes, readAt: 0) { piece in
        if case .message(let message) = piece, let found = UBXAcknowledgement(message) { answer = found }
      }
    }
    if let answer, answer.kind == request.kind { state = answer.isAccepted ? .accepted : .refused }
  }
}
