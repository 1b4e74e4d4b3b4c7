import MonotonicTime

/// The name of a message or command in a receiver's protocol.
public enum CommandName: Hashable, Sendable {
  /// The class and identifier of a UBX or CASIC message.
  case binary(UInt8, UInt8)
  /// The first field of a sentence, for example `PMTK220`.
  case text(String)
  /// The number of an RTCM 3 message.
  case correction(UInt16)
}

/// The faults of a simulated receiver.
public struct ReceiverFaults: Sendable {
  /// The interference that the receiver reports.
  public struct Jamming: Sendable {
    /// The state of jamming as in MON-RF: 1 for none, 2 for a warning, 3 for critical.
    public var state: UInt8
    /// The jamming indicator, 0 to 255.
    public var indicator: UInt8

    public init(state: UInt8, indicator: UInt8) {
      self.state = state
      self.indicator = indicator
    }
  }

  /// Signals from a spoofer.
  public struct Spoofing: Sendable {
    /// How far the position jumps to the north.
    public var metres: Double
    /// Whether the receiver detects and reports the spoofing.
    public var isReported: Bool

    public init(metres: Double, isReported: Bool) {
      self.metres = metres
      self.isReported = isReported
    }
  }

  /// Commands that the receiver rejects, in the manner of its protocol.
  public var refused: Set<CommandName> = []
  /// Commands that the receiver does not answer.
  public var ignored: Set<CommandName> = []
  /// Commands that the receiver answers with other bytes.
  public var substituted: [CommandName: [UInt8]] = [:]
  /// An additional delay of all answers.
  public var answerDelay = Duration.zero
  /// The number of commands that the receiver still answers. At the command after these, it loses its supply for
  /// `powerLoss` instead of answering.
  public var commandsUntilPowerLoss: Int?
  public var powerLoss = Duration.milliseconds(500)
  public var jamming: Jamming?
  public var spoofing: Spoofing?
  /// Whether the receiver repeats one position bit for bit while its Doppler measurements continue.
  public var isFrozen = false
  /// Whether the receiver finds no position after its next start although it receives satellites, because its memory
  /// contains wrong data.
  public var findsNothing = false
  /// The kind of start that ends `isFrozen` and `findsNothing`. Starts that forget more end them as well. `nil` if no
  /// start does.
  public var remedy: ReceiverStart?

  public init() {}
}
