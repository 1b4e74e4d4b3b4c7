import Devices
import Fusion
import Hub
import MonotonicTime

/// Something that was recorded of a board's devices.
public struct ReplayedMessage: Sendable {
  public enum Content: Sendable {
    case sentences(ReceivedBytes)
    /// Not in place: a batch has four kilobytes.
    indirect case batch(IMUBatch)
    case magneticField(MagnetometerSample)
    case air(BarometerSample)
    case supply(SupplySample)
    /// - Parameters:
    ///   - isSupplied: whether the device was at work
    ///   - isHeld: whether a client wanted it
    case power(DeviceStatus.Kind, isSupplied: Bool, isHeld: Bool)
    /// Not in place, as it is large.
    indirect case epoch(ReceiverEpoch)
    /// Of no device: a run of the fusion began.
    ///
    /// - Parameter positionSource: the IDs of the devices that the known position is of, as `DeviceNames` writes them
    indirect case begin(FusionKnowledge, positionSource: String)
    /// Of no device: it ended.
    case end
    /// Of no device: by how much the system's clock was ahead of the recording's from here on.
    case clock(aheadNanoseconds: Int64)
    /// Of no device: the board that was in service from here on. Not in place, as it is large.
    indirect case board(Board)

    var kind: DeviceStatus.Kind? {
      switch self {
      case .sentences: .receiver
      case .batch: .imu
      case .magneticField: .magnetometer
      case .air: .barometer
      case .supply: .supplyMonitor
      case .power(let kind, _, _): kind
      case .begin, .end, .clock, .board: nil
      case .epoch: .receiver
      }
    }
  }

  /// When it was there, on the monotonic clock of the recording.
  public var at: MonotonicInstant
  /// The same by the system's clock, nanoseconds since 1970.
  public var systemNanosecondsSince1970: Int64
  /// The true time, as far as a receiver has told it.
  public var utcNanosecondsSince1970: Int64
  public var device: String
  public var content: Content
  /// It is of another recording than the one before, with a monotonic clock of its own and devices that are off.
  public var beginsRecording: Bool

  /// - Parameter clockCorrectionNanoseconds: by which the system's clock was slow
  public init(
    at: MonotonicInstant, systemNanosecondsSince1970: Int64, clockCorrectionNanoseconds: Int64 = 0, device: String,
    content: Content, beginsRecording: Bool = false
  ) {
    utcNanosecondsSince1970 = systemNanosecondsSince1970.clampedSum(clockCorrectionNanoseconds)
    self.at = at
    self.systemNanosecondsSince1970 = systemNanosecondsSince1970
    self.device = device
    self.content = content
    self.beginsRecording = beginsRecording
  }

  /// Puts it to another instant of the same recording.
  public mutating func move(to instant: MonotonicInstant) {
    let nanoseconds = (instant - at).inNanoseconds
    at = instant
    systemNanosecondsSince1970 = systemNanosecondsSince1970.clampedSum(nanoseconds)
    utcNanosecondsSince1970 = utcNanosecondsSince1970.clampedSum(nanoseconds)
  }
}

extension ReplayedMessage.Content {
  /// The same with later instants.
  func shifted(by duration: Duration) -> Self {
    switch self {
    case .sentences(var sentences):
      sentences.beganAt += duration
      sentences.readAt += duration
      return .sentences(sentences)
    case .batch(var batch):
      batch.shift(by: duration)
      return .batch(batch)
    case .magneticField(var sample):
      sample.at += duration
      return .magneticField(sample)
    case .air(var sample):
      sample.at += duration
      return .air(sample)
    case .supply(var sample):
      sample.at += duration
      return .supply(sample)
    case .epoch(var epoch):
      epoch.at += duration
      return .epoch(epoch)
    case .begin(var knowledge, let source):
      knowledge.position?.at += duration
      knowledge.time?.at += duration
      return .begin(knowledge, positionSource: source)
    case .power, .end, .clock, .board: return self
    }
  }
}

extension MonotonicInstant {
  fileprivate static func += (lhs: inout MonotonicInstant, rhs: Duration) { lhs = lhs + rhs }
}
