import UBX

/// A receiver's report of interference with its reception.
public struct Interference: Equatable, Sendable {
  public var jamming = JammingReport.unknown
  public var spoofing = SpoofingReport.unknown
  /// Continuous-wave interference, from 0 for none to 255 for strong; gpsd's `jam`.
  public var jammingIndicator: UInt8?
  /// The latest report about the antenna.
  public var antenna = AntennaStatus.unknown

  public init() {}

  /// Whether the receiver reports spoofing, so that its position is not trustworthy.
  public var isSpoofed: Bool { spoofing == .indicated || spoofing == .multiple }
}

/// The latest report of interference from each kind of message, as long as the report is valid.
struct InterferenceMemory: Sendable {
  /// How long a report is valid, nanoseconds. Receivers report with every epoch, or every few seconds.
  private static let lifetime: Int64 = 30_000_000_000

  private struct Stated<Value: Sendable>: Sendable {
    var value: Value
    var at: Int64

    func known(at now: Int64) -> Value? { now - at <= InterferenceMemory.lifetime ? value : nil }
  }

  private var jamming: Stated<JammingReport>?
  private var otherBand: Stated<JammingReport>?
  private var indicator: Stated<UInt8>?
  private var spoofing: Stated<SpoofingReport>?
  /// The mode of the receiver's fusion. It has nothing to do with interference, but its reports are valid for the same
  /// time.
  private var fusionMode: Stated<FusionMode>?
  /// The report of SEC-SIG. Firmware that sends SEC-SIG does not update the other reports.
  private var security: Stated<(jamming: JammingReport, spoofing: SpoofingReport)>?
  /// The latest report about the antenna. It stays valid, because sentences report only changes.
  private var antenna = AntennaStatus.unknown

  mutating func note(_ jamming: JammingReport, at now: Int64) { self.jamming = Stated(value: jamming, at: now) }
  mutating func note(otherBand: JammingReport, at now: Int64) { self.otherBand = Stated(value: otherBand, at: now) }
  mutating func note(_ spoofing: SpoofingReport, at now: Int64) { self.spoofing = Stated(value: spoofing, at: now) }
  mutating func note(indicator: UInt8, at now: Int64) { self.indicator = Stated(value: indicator, at: now) }

  mutating func note(_ antenna: AntennaStatus) { self.antenna = antenna }

  mutating func note(_ status: SecurityStatus, at now: Int64) {
    security = Stated(value: (status.jamming, status.spoofing), at: now)
  }

  mutating func note(_ fusion: FusionMode, at now: Int64) { fusionMode = Stated(value: fusion, at: now) }

  func fusion(at now: Int64) -> FusionMode? { fusionMode?.known(at: now) }

  func present(at now: Int64) -> Interference {
    var present = Interference()
    let security = security?.known(at: now)
    present.jamming =
      security.flatMap { $0.jamming == .unknown ? nil : $0.jamming }
      ?? worse(jamming?.known(at: now), otherBand?.known(at: now))
    present.spoofing =
      security.flatMap { $0.spoofing == .unknown ? nil : $0.spoofing } ?? spoofing?.known(at: now) ?? .unknown
    present.jammingIndicator = indicator?.known(at: now)
    present.antenna = antenna
    return present
  }

  private func worse(_ a: JammingReport?, _ b: JammingReport?) -> JammingReport {
    let (a, b) = (a ?? .unknown, b ?? .unknown)
    return a.rawValue >= b.rawValue ? a : b
  }
}
