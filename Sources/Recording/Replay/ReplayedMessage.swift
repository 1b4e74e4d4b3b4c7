import Devices
import Fusion
import Hub
import MonotonicTime

/// A message of a recording, in the form in which the replay plays it.
public struct ReplayedMessage: Sendable {
  public enum Content: Sendable {
    case sentences(ReceivedBytes)
    /// A batch. It is stored indirectly, because it takes four kilobytes.
    indirect case batch(IMUBatch)
    case magneticField(MagnetometerSample)
    case air(BarometerSample)
    case supply(SupplySample)
    /// - Parameters:
    ///   - isSupplied: whether the device was on and working
    ///   - isHeld: whether a client needed the device
    case power(DeviceStatus.Kind, isSupplied: Bool, isHeld: Bool)
    /// An epoch. It is stored indirectly, because it is large.
    indirect case epoch(ReceiverEpoch)
    /// The beginning of a fusion run. It belongs to no device.
    ///
    /// - Parameter positionSource: the IDs of the devices that measured the known position, in the form of
    ///   `DeviceNames`
    indirect case begin(FusionKnowledge, positionSource: String)
    /// The end of a fusion run. It belongs to no device.
    case end
    /// The expiry of the last values of a fusion run. It belongs to no device.
    case expiry
    /// The offset of the system clock from the recording's clock, from this time on. It belongs to no device.
    case clock(aheadNanoseconds: Int64)
    /// The board in service from this time on. It belongs to no device, and is stored indirectly because it is large.
    indirect case board(Board)

    var kind: DeviceStatus.Kind? {
      switch self {
      case .sentences: .receiver
      case .batch: .imu
      case .magneticField: .magnetometer
      case .air: .barometer
      case .supply: .supplyMonitor
      case .power(let kind, _, _): kind
      case .begin, .end, .expiry, .clock, .board: nil
      case .epoch: .receiver
      }
    }
  }

  /// The time on the recording's monotonic clock.
  public var at: MonotonicInstant
  /// The time by the system clock, nanoseconds since 1970.
  public var systemNanosecondsSince1970: Int64
  /// The true time if a receiver has reported it, otherwise the time by the system clock, nanoseconds since 1970.
  public var utcNanosecondsSince1970: Int64
  public var device: String
  public var content: Content
  /// Whether a new recording begins, with another monotonic clock and with devices that are off.
  public var beginsRecording: Bool

  /// - Parameter clockCorrectionNanoseconds: how far the system clock was behind the true time
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

  /// Moves the message to another instant of the same recording.
  public mutating func move(to instant: MonotonicInstant) {
    let nanoseconds = (instant - at).inNanoseconds
    at = instant
    systemNanosecondsSince1970 = systemNanosecondsSince1970.clampedSum(nanoseconds)
    utcNanosecondsSince1970 = utcNanosecondsSince1970.clampedSum(nanoseconds)
  }
}

extension ReplayedMessage.Content {
  /// The same content with shifted instants.
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
    case .power, .end, .expiry, .clock, .board: return self
    }
  }
}

extension MonotonicInstant {
  fileprivate static func += (lhs: inout MonotonicInstant, rhs: Duration) { lhs = lhs + rhs }
}
