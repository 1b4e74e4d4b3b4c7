/// What a device itself reports that people must be told of at once.
public enum DeviceAlarm: String, CaseIterable, Sendable {
  /// The supply that it measures is low.
  case supply
  case jamming
  case spoofing
}

/// What people must be told of one device, and how far the opposite is known: of a device that rests nothing new is known.
public struct DeviceAlarms: Equatable, Sendable {
  /// What it reports, with the words for it.
  public var reported: [DeviceAlarm: String]
  /// `nil` while it works, or rests.
  public var failure: DeviceCondition?
  /// Why its supply could not be switched off; `nil` if it could.
  public var lineProblem: String?
  /// It measures at present: it works, and its supply is known.
  public var isMeasuring: Bool
  /// It is read at present, with a fix or without.
  public var isHeard: Bool

  public init(
    reported: [DeviceAlarm: String] = [:], failure: DeviceCondition? = nil, lineProblem: String? = nil,
    isMeasuring: Bool = false, isHeard: Bool = false
  ) {
    self.reported = reported
    self.failure = failure
    self.lineProblem = lineProblem
    self.isMeasuring = isMeasuring
    self.isHeard = isHeard
  }
}
