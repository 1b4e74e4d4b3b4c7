import Devices
import Fusion
import MonotonicTime

/// An input of the fusion: a measurement or a burst of measurements of one device, the beginning or end of a run, or the
/// expiry of its last values.
///
/// Measurements are raw, without calibration and mount. Devices are identified by their place in the board's list. The
/// value has no heap storage, so a stream of inputs allocates nothing.
public enum FusionInput: Sendable {
  /// A client wants states. The estimate starts with the knowledge from earlier runs.
  case begin(FusionKnowledge)
  /// The last client has left.
  case end
  /// A device has failed, no other input has come, and the position and the attitude of the last state have become too
  /// old. The input makes a state without them.
  case expiry
  /// An epoch of a receiver that is selected (`ReceiverSelection`).
  case epoch(Int, ReceiverEpoch)
  case imu(Int, IMUBatch)
  case field(Int, MagnetometerSample)
  case air(Int, BarometerSample)
  case supply(Int, SupplySample)
}

/// The knowledge that passes from one run of the fusion to the next.
public struct FusionKnowledge: Sendable {
  /// A time that a receiver stated. Many receivers state no time without satellites. The monotonic clock then
  /// continues from the last stated time.
  public struct StatedTime: Sendable {
    /// The time in nanoseconds since 1970.
    public var utcNanoseconds: Int64
    public var at: MonotonicInstant

    public init(utcNanoseconds: Int64, at: MonotonicInstant) {
      self.utcNanoseconds = utcNanoseconds
      self.at = at
    }
  }

  /// The last position of the board.
  public var position: Dated<FusedState.Position>?
  public var time: StatedTime?

  public init(position: Dated<FusedState.Position>? = nil, time: StatedTime? = nil) {
    self.position = position
    self.time = time
  }
}
