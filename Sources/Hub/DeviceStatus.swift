import MonotonicTime
import Publishing

/// The present state of a device: its activity with reason and holders, its energy, idle timeout and budget, its
/// problems, its calibrations and its counters.
public struct DeviceStatus: Equatable, Sendable {
  public enum Power: String, CaseIterable, Equatable, Sendable {
    case off
    /// The supply is on although the device has no holders: it has no switch, or is on for other devices, or for the
    /// device's sleep mode. The device sleeps as deeply as it can.
    case asleep
    /// The supply is on, and the device works although it has no holders. It could not be put to sleep; the warning
    /// says why.
    case awake
    /// The device is powered, but not ready to answer.
    case settling
    /// The device answers, without a useful measurement yet.
    case acquiring
    case tracking
    /// The device is on during its idle timeout after the last subscriber.
    case lingering
    /// The device has failed, and is off or hangs; the reason names the fault.
    case failed

    /// Whether the supply is on for the device, and the device starts, works, or is in its idle timeout.
    public var isWorking: Bool { !isRest && self != .failed }

    /// Whether the device has no holders and draws as little as the hub can achieve.
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

    /// The word in capitals before all values that no device measures now; `nil` for a real device.
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
  /// The title, for example `GPS on /dev/ttyAMA0`.
  public var title: String
  public var power: Power
  /// When this power state began.
  public var since: MonotonicInstant
  public var reason: String
  /// The end of the idle timeout, unless a new holder comes.
  public var lingersUntil: MonotonicInstant?
  /// The warning for the owner; `nil` for none.
  public var warning: String?
  /// Whether the warning includes a finding about the device itself. A finding about an inertial sensor says why the
  /// sensor is not fused.
  public var hasFinding = false
  /// The labels of the clients that hold the device awake.
  public var holders: [String]
  /// The identities of these clients, in the same order.
  public var holderIDs: [HolderID] = []
  /// How long clients needed the device, over all runs, until this status.
  public var onTime: Duration
  /// How often the device has started: a chip answered, or a receiver's line was open. An attempt to start a missing
  /// device does not count.
  public var wakes: Int
  /// The energy while clients needed the device and while only its supply was on: measured, or else by the currents in
  /// the board file.
  public var energyMilliwattHours: Double
  /// The measured part of the energy.
  public var measuredMilliwattHours = 0.0
  /// The energy per client; empty in `DeviceMonitor.changes`.
  public var energyByClient: [EnergyByClient.ClientEnergy] = []
  /// The energy per client in the last 24 hours, across restarts of the hub.
  public var energyByClientOfDay: [EnergyByClient.ClientEnergy] = []
  /// The energy per client in the last seven days, across restarts of the hub.
  public var energyByClientOfWeek: [EnergyByClient.ClientEnergy] = []
  /// The idle timeout and its reason; `nil` in `DeviceMonitor.changes`.
  public var idleTimeout: IdleTimeoutReport?
  /// The schedules that wake the device for fixes; empty in `DeviceMonitor.changes`.
  public var schedules: [ScheduleReport] = []
  /// The state of the daily energy budget; `nil` without one in the board file, and in `DeviceMonitor.changes`.
  public var budget: BudgetReport?
  /// The present power, measured or stated; 0 in `DeviceMonitor.changes`.
  public var milliwatts = 0.0
  /// The time to the first fix of the last run that had one.
  public var timeToFirstFix: Duration?
  /// The device's calibrations, with date and quality.
  public var calibrations: [CalibrationKind: ChipCalibration.Entry] = [:]
  /// The state of a receiver's corrections; `nil` without a caster in the board file.
  public var corrections: CorrectionStatus?
  /// The device's problems, the worst first; empty in `DeviceMonitor.changes`.
  public var conditions: [DeviceCondition] = []
  /// The device's origin. No output may show a simulated or recorded value as if a device had measured it now.
  public var origin = Origin.real
  /// Whether the supply could not be switched off; the warning says why.
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

  mutating func setHolders(_ holders: [Holder]) {
    self.holders = holders.map(\.label)
    holderIDs = holders.map(\.id)
  }
}
