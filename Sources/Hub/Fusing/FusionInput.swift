import Devices
import Fusion
import MonotonicTime

/// An input of the fusion: one measurement of one device, or the begin or the end of a run.
///
/// Measurements are as the device gave them, before calibration and mount. Devices are identified by their place in the
/// board's list. The value has no heap storage of its own, so a stream of inputs allocates nothing.
public enum FusionInput: Sendable {
  /// A client wants states: an estimate starts with the knowledge from earlier runs.
  case begin(FusionKnowledge)
  /// The last client has left.
  case end
  /// An epoch of a receiver, of those that are taken (`ReceiverSelection`).
  case epoch(Int, ReceiverEpoch)
  case imu(Int, IMUBatch)
  case field(Int, MagnetometerSample)
  case air(Int, BarometerSample)
  case supply(Int, SupplySample)
}

/// The knowledge that passes from one run of the fusion to the next.
public struct FusionKnowledge: Sendable {
  /// A time as a receiver stated it. Without satellites many receivers state none, and the monotonic clock goes on from there.
  public struct StatedTime: Sendable {
    /// Nanoseconds since 1970.
    public var utcNanoseconds: Int64
    public var at: MonotonicInstant

    public init(utcNanoseconds: Int64, at: MonotonicInstant) {
      self.utcNanoseconds = utcNanoseconds
      self.at = at
    }
  }

  /// Where the board was.
  public var position: Dated<FusedState.Position>?
  public var time: StatedTime?

  public init(position: Dated<FusedState.Position>? = nil, time: StatedTime? = nil) {
    self.position = position
    self.time = time
  }
}
