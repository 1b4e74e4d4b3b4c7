import Devices
import MonotonicTime

/// The state of a receiver's corrections, since the hub began to fetch them.
public struct CorrectionStatus: Equatable, Sendable {
  public enum Phase: String, CaseIterable, Sendable {
    /// The receiver is not read, so there is no connection.
    case off
    case connecting
    /// The client is connected, and nothing has arrived yet.
    case connected
    case receiving
    /// The client waits until the next attempt; `reason` says why.
    case waiting
  }

  /// The address, for example `ntrip://caster.example:2101/MOUNT`; `ntrips://` with TLS.
  public var source: String
  public var phase = Phase.off
  /// Why there are no corrections, or were none at the last attempt.
  public var reason: String?
  /// The number of bytes from the caster, of any kind.
  public var bytes = 0
  /// The number of RTCM 3 messages by type.
  public var messages: [UInt16: Int] = [:]
  /// The number of messages that were lost because the receiver's line was too slow.
  public var lost = 0
  /// The receiver's report about its use of the corrections; empty if it reports none.
  public var outcomes = CorrectionOutcomes()
  /// The number of connections to a caster.
  public var connections = 0
  /// The distance from the receiver to the base station, if the station has stated its position (RTCM 3's messages 1005
  /// and 1006).
  public var baseDistanceMetres: Double?
  /// When the last message arrived.
  public var lastAt: MonotonicInstant?

  public init(source: String) { self.source = source }

  public var messageCount: Int { messages.values.reduce(0, +) }
}
