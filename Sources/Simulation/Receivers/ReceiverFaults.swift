import MonotonicTime

/// A message or command as a receiver's protocol names it.
public enum CommandName: Hashable, Sendable {
  /// Class and identifier of UBX or CASIC.
  case binary(UInt8, UInt8)
  /// The first field of a sentence: `PMTK220`.
  case text(String)
  /// The number of a message of RTCM 3.
  case correction(UInt16)
}

/// What goes wrong with a simulated receiver.
public struct ReceiverFaults: Sendable {
  /// What it says about interference.
  public struct Jamming: Sendable {
    /// 1 no jamming, 2 warning, 3 critical: as MON-RF has it.
    public var state: UInt8
    /// 0 to 255.
    public var indicator: UInt8

    public init(state: UInt8, indicator: UInt8) {
      self.state = state
      self.indicator = indicator
    }
  }

  /// Somebody else's signals.
  public struct Spoofing: Sendable {
    /// By how much its position jumps to the north.
    public var metres: Double
    /// Whether the receiver notices and says so.
    public var isReported: Bool

    public init(metres: Double, isReported: Bool) {
      self.metres = metres
      self.isReported = isReported
    }
  }

  /// It refuses these in the manner of its protocol.
  public var refused: Set<CommandName> = []
  /// It says nothing to these.
  public var ignored: Set<CommandName> = []
  /// It answers these with other bytes.
  public var substituted: [CommandName: [UInt8]] = [:]
  /// By how much later it answers.
  public var answerDelay = Duration.zero
  /// Its supply fails for a moment in place of the answer to the command after so many.
  public var commandsUntilPowerLoss: Int?
  public var powerLoss = Duration.milliseconds(500)
  public var jamming: Jamming?
  public var spoofing: Spoofing?
  /// It repeats one position bit for bit while its Doppler goes on.
  public var isFrozen = false
  /// It hears its satellites and finds no position from its next start on, as what it remembers is wrong.
  public var findsNothing = false
  /// By which start, or one that forgets more, it works again; `nil` for none.
  public var remedy: ReceiverStart?

  public init() {}
}
