import Devices
import MonotonicTime

/// The state of a receiver's corrections, since the hub began to fetch them.
public struct CorrectionStatus: Equatable, Sendable {
  public enum Phase: String, CaseIterable, Sendable {
    /// The receiver is not read, so there is no connection.
    case off
    case connecting
    /// Connected, and nothing has come yet.
    case connected
    case receiving
    /// Until the next try; the reason says why.
    case waiting
  }

  /// `ntrip://caster.example:2101/MOUNT`
  public var source: String
  public var phase = Phase.off
  /// Why there are none, or were none when it was last tried.
  public var reason: String?
  /// As they came from the caster, of any kind.
  public var bytes = 0
  /// Messages of RTCM 3 by their numbers.
  public var messages: [UInt16: Int] = [:]
  /// Messages that the receiver's line was too slow for.
  public var lost = 0
  /// The receiver's report about their use; empty if it reports none.
  public var outcomes = CorrectionOutcomes()
  /// How often a caster was connected to.
  public var connections = 0
  /// From the receiver to the base station, if that has said where it is (RTCM 3's messages 1005 and 1006).
  public var baseDistanceMetres: Double?
  /// When the last message came.
  public var lastAt: MonotonicInstant?

  public init(source: String) { self.source = source }

  public var messageCount: Int { messages.values.reduce(0, +) }
}
