import MonotonicTime

/// What a device is doing, why, for whom, and what it has cost so far.
public struct DeviceStatus: Equatable, Sendable {
  public enum Power: String, CaseIterable, Equatable, Sendable {
    case off
    /// Supplied although nobody wants it, because its supply cannot be switched, or is on for others or for its sleep; it sleeps as
    /// well as it can.
    case asleep
    /// Supplied and at work although nobody wants it: it should sleep, and could not be told to; the remark says why.
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

    /// Nobody wants it, and it draws no more than the hub can help.
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

    /// What stands in capitals before all that no device has measured just now; `nil` of a real device.
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
  /// When it stops lingering, unless somebody comes.
  public var lingersUntil: MonotonicInstant?
  /// What its owner should know of it.
  public var remark: String?
  /// Who holds a lease.
  public var holders: [String]
  /// How long it was wanted, over all runs, the present one up to when this was taken.
  public var onTime: Duration
  public var wakes: Int
  /// While it was wanted and while it was only supplied: as it was measured, and else by the currents that the board file
  /// states.
  public var energyMilliwattHours: Double
  /// How much of that was measured.
  public var measuredMilliwattHours = 0.0
  /// Who has caused it; none in what is told of a change.
  public var bills: [EnergyBills.Bill] = []
  /// The same for the last 24 hours and the last seven days, over restarts of the hub.
  public var billsOfDay: [EnergyBills.Bill] = []
  public var billsOfWeek: [EnergyBills.Bill] = []
  /// How long it lingers, and why; `nil` in what is told of a change.
  public var linger: LingerReport?
  /// Who has it woken for a fix now and then; none in what is told of a change.
  public var schedules: [ScheduleReport] = []
  /// How it stands with what it may draw in a day; `nil` where the board file says nothing of that, and in what is told of a change.
  public var budget: BudgetReport?
  /// What it draws at present, measured or stated; 0 in what is told of a change.
  public var milliwatts = 0.0
  /// Of the last run that got so far.
  public var timeToFirstFix: Duration?
  /// What has been calibrated, when and how well.
  public var calibrations: [CalibrationKind: ChipCalibration.Entry] = [:]
  /// What a receiver gets of corrections; `nil` where the board file names no caster.
  public var corrections: CorrectionStatus?
  /// What is the matter with it, the worst first; none in what is told of a change.
  public var conditions: [DeviceCondition] = []
  /// What it is: no output may show what was simulated or recorded as if a device had measured it just now.
  public var origin = Origin.real
  /// Its supply could not be switched off; the remark says why.
  public var isSupplyStuck = false
  /// Counters of what has been read, by name.
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
