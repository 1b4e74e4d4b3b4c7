/// An alarm that a device itself reports.
public enum DeviceAlarm: String, CaseIterable, Sendable {
  /// The measured supply is low.
  case supply
  case jamming
  case spoofing
}

/// The alarms of one device, and whether the absence of an alarm shows that there is no problem. A resting device
/// reports nothing new.
public struct DeviceAlarms: Equatable, Sendable {
  /// The reported alarms, with their texts.
  public var reported: [DeviceAlarm: String]
  /// The failure; `nil` while the device works or rests.
  public var failure: DeviceCondition?
  /// Why the supply could not be switched off; `nil` if it could.
  public var lineProblem: String?
  /// Whether the device measures at present.
  public var isMeasuring: Bool
  /// Whether the device is read at present, with a fix or without.
  public var isHeard: Bool
  /// Whether the absence of the alarm `supply` shows that the supply is not low.
  public var isSupplyKnown: Bool

  public init(
    reported: [DeviceAlarm: String] = [:], failure: DeviceCondition? = nil, lineProblem: String? = nil,
    isMeasuring: Bool = false, isHeard: Bool = false, isSupplyKnown: Bool? = nil
  ) {
    self.isSupplyKnown = isSupplyKnown ?? isMeasuring
    self.reported = reported
    self.failure = failure
    self.lineProblem = lineProblem
    self.isMeasuring = isMeasuring
    self.isHeard = isHeard
  }
}
