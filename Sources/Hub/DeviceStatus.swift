import MonotonicTime

/// The activity of a device with its reason and holders, and its costs so far.
public struct DeviceStatus: Equatable, Sendable {
  public enum Power: String, CaseIterable, Equatable, Sendable {
    case off
    /// Supplied without holders, because its supply cannot be switched, or is on for others or for its sleep; it sleeps
    /// as deeply as it can.
    case asleep
    /// Supplied and at work without holders: it should sleep, but could not be put to sleep; the remark says why.
    case awake
    /// Powered, and not ready to be talked to yet.
    case settling
    /// Talking, without a useful measurement yet.
    case acquiring
    case tracking
    /// Running on after its last subscriber.
    case lingering
    /// Off after a fault; the reason says which.
    case failed

    /// Supplied, and at work or about to be.
    public var isWorking: Bool { !isRest && self != .failed }

    /// It has no holders, and draws no more than the hub can help.
    public var isRest: Bool { self == .off || self == .asleep || self == .awake }
  }

  public enum Kind: String, CaseIterable, Equatable, Sendable {
    case receiver
    case imu
    case magnetometer
    case barometer
    case supplyMonitor
  }

  public enum Origin: String, CaseIterable, Equatable, Sendable {
    case real
    case simulated
    case recorded

    /// The word in capitals before all values that no device has measured now; `nil` for a real device.
    public var mark: String? {
      switch self {
      case .real: nil
      case .simulated: "SIMULATED"
      case .recorded: "REPLAY"
      }
    }
  }

  public var id: String
  public var kind: Kind
  /// `GPS on /dev/ttyAMA0`
  public var title: String
  public var power: Power
  /// When this power state began.
  public var since: MonotonicInstant
  public var reason: String
  /// The end of its linger, unless a new holder comes.
  public var lingersUntil: MonotonicInstant?
  /// What its owner should know of it.
  public var remark: String?
  /// The holders of a lease.
  public var holders: [String]
  /// How long it was wanted, over all runs, the present one up to when this was taken.
  public var onTime: Duration
  public var wakes: Int
  /// While it was wanted and while it was only supplied: as it was measured, and else by the currents that the board file
  /// states.
  public var energyMilliwattHours: Double
  /// How much of that was measured.
  public var measuredMilliwattHours = 0.0
  /// The energy by cause; empty in the report of a change.
  public var bills: [EnergyBills.Bill] = []
  /// The same for the last 24 hours and the last seven days, over restarts of the hub.
  public var billsOfDay: [EnergyBills.Bill] = []
  public var billsOfWeek: [EnergyBills.Bill] = []
  /// The duration of its linger, and its reason; `nil` in the report of a change.
  public var linger: LingerReport?
  /// The schedules that wake it for fixes; empty in the report of a change.
  public var schedules: [ScheduleReport] = []
  /// The state of its daily energy budget; `nil` without one in the board file, and in the report of a change.
  public var budget: BudgetReport?
  /// Its present power, measured or stated; 0 in the report of a change.
  public var milliwatts = 0.0
  /// From the last run that got this far.
  public var timeToFirstFix: Duration?
  /// Its calibration, with date and quality.
  public var calibrations: [CalibrationKind: ChipCalibration.Entry] = [:]
  /// The state of a receiver's corrections; `nil` without a caster in the board file.
  public var corrections: CorrectionStatus?
  /// Its problems, the worst first; empty in the report of a change.
  public var conditions: [DeviceCondition] = []
  /// Its origin: no output may show a simulated or recorded value as if a device had measured it now.
  public var origin = Origin.real
  /// Its supply could not be switched off; the remark says why.
  public var isSupplyStuck = false
  /// Counters of received data, by name.
  public var counters: [Counter]

  public struct Counter: Equatable, Sendable {
    public var name: String
    public var value: Int

    public init(_ name: String, _ value: Int) {
      self.name = name
      self.value = value
    }
  }
}
