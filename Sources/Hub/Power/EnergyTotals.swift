import MonotonicTime

/// Energy that a device drew, for its usage history.
struct EnergyCharge: Equatable, Sendable {
  var milliwattHours: Double
  var payers: EnergyByClient.Payers
  var seconds: Double
}

/// The totals of one device: its time on, its energy, and the payers.
///
/// Callers update the totals with `goOn` before anything changes that the totals depend on.
struct EnergyTotals: Sendable {
  /// The present use of the device, by which its energy is charged.
  enum Use: Equatable, Sendable {
    /// A client needs the device, which has not measured anything yet.
    case starting
    case measuring
    /// The device has no subscribers, and watches for motion of the board with this current.
    case waitingForMotion(milliamperes: Double)
    /// The device has no holders.
    case resting

    fileprivate var isWanted: Bool { self == .starting || self == .measuring }
  }

  /// How long clients needed the device.
  private(set) var onTime = Duration.zero
  /// The energy, measured or stated.
  private(set) var milliwattHours = 0.0
  /// The measured part of the energy.
  private(set) var measuredMilliwattHours = 0.0
  private(set) var energyByClient = EnergyByClient()
  /// The power that a supply monitor measures at present.
  var measuredMilliwatts: Double?
  /// The payers of the direct and indirect holders of the device, with their shares.
  private(set) var payers: EnergyByClient.Payers?
  /// The device's measured power while it works.
  private var measuredWork = MeanPower()
  /// The payers of the device's present or last start.
  private var starters: EnergyByClient.Payers?
  /// The payers of the wait for motion.
  private var waitingPayers: EnergyByClient.Payers?
  /// The totals of this device's predecessor under the previous board file. Its counters are added to the present ones.
  private var before = RunTotals()
  private var asOf: MonotonicInstant
  private var isClosed = false

  init(at now: MonotonicInstant) { asOf = now }

  /// The mean measured power of about the last hour of work; `nil` if it was never measured.
  var workingMilliwatts: Double? { measuredWork.milliwatts }

  /// Adds the time and the energy since the last call.
  ///
  /// - Parameters:
  ///   - statedMilliwatts: the power since the last call, if it was not measured
  /// - Returns: the energy for the usage history; `nil` for none
  mutating func goOn(until now: MonotonicInstant, _ use: Use, drawing statedMilliwatts: Double) -> EnergyCharge? {
    let elapsed = now - asOf
    asOf = now
    if isClosed { return nil }
    if use.isWanted { onTime += elapsed }
    let hours = elapsed.inSeconds / 3600
    let drawn = (measuredMilliwatts ?? statedMilliwatts) * hours
    milliwattHours += drawn
    if let measuredMilliwatts {
      measuredMilliwattHours += measuredMilliwatts * hours
      if use.isWanted { measuredWork.add(measuredMilliwatts, hours: hours) }
    }
    guard drawn > 0 else { return nil }
    let payers = payers(of: use)
    energyByClient.charge(drawn, to: payers)
    return EnergyCharge(milliwattHours: drawn, payers: payers, seconds: elapsed.inSeconds)
  }

  private func payers(of use: Use) -> EnergyByClient.Payers {
    switch use {
    case .resting: return .standby
    case .waitingForMotion:
      guard let waitingPayers, !waitingPayers.isEmpty else { return .standby }
      return waitingPayers
    case .starting, .measuring:
      guard let payers, !payers.isEmpty else { return .idleTimeout }
      return use == .measuring ? payers : starters ?? payers
    }
  }

  /// Whether `charge` would change the payers.
  ///
  /// - Parameters: see `charge`
  func isNews(_ payers: EnergyByClient.Payers?, waiting: EnergyByClient.Payers?) -> Bool {
    payers.map { $0 != self.payers } == true || waiting.map { $0 != waitingPayers } == true
  }

  /// Sets the payers from now on.
  ///
  /// - Parameters:
  ///   - payers: `nil` for the previous ones
  ///   - waiting: the payers while the device waits for motion; `nil` for the previous ones
  mutating func charge(_ payers: EnergyByClient.Payers?, waiting: EnergyByClient.Payers?) {
    self.payers = payers ?? self.payers
    starters = self.payers?.starters(after: starters)
    waitingPayers = waiting ?? waitingPayers
  }

  /// Stops counting energy, because another device continues the totals.
  mutating func close() { isClosed = true }

  /// Continues with the totals of another device. They include the energy up to now, so this device counts from now on.
  mutating func open(with totals: RunTotals, at now: MonotonicInstant) {
    (asOf, before) = (now, totals)
    (onTime, energyByClient) = (totals.onTime, totals.energyByClient)
    (milliwattHours, measuredMilliwattHours) = (totals.energyMilliwattHours, totals.measuredMilliwattHours)
  }

  /// The present counters with the predecessor's counts added.
  func counters(_ present: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] { before.adding(to: present) }

  /// The totals for a device that continues them.
  ///
  /// - Parameter counters: the present counters, without the predecessor's counts
  func totals(wakes: Int, _ counters: [DeviceStatus.Counter]) -> RunTotals {
    RunTotals(
      onTime: onTime, wakes: wakes, energyMilliwattHours: milliwattHours,
      measuredMilliwattHours: measuredMilliwattHours, energyByClient: energyByClient,
      counters: before.totals(with: counters))
  }
}

extension DeviceStatus {
  /// Copies the totals as of their last update.
  mutating func take(_ energy: EnergyTotals) {
    onTime = energy.onTime
    (energyMilliwattHours, measuredMilliwattHours) = (energy.milliwattHours, energy.measuredMilliwattHours)
  }
}

/// The totals of a device since the program started. They continue when a new board file changes the device.
struct RunTotals: Sendable {
  var onTime = Duration.zero
  var wakes = 0
  var energyMilliwattHours = 0.0
  var measuredMilliwattHours = 0.0
  var energyByClient = EnergyByClient()
  /// The counters of all earlier readers of the device.
  var counters: [DeviceStatus.Counter] = []

  /// Adds the earlier counts to counters. Counters that no longer exist are left out.
  func adding(to counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    counters.map { counter in
      DeviceStatus.Counter(
        counter.name, counter.value + (self.counters.first { $0.name == counter.name }?.value ?? 0))
    }
  }

  /// All counters: the present ones with the earlier counts added, and earlier ones that no longer exist.
  func totals(with counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    adding(to: counters) + self.counters.filter { old in !counters.contains { $0.name == old.name } }
  }
}

/// The mean power of a device at work, as measured by a supply monitor in about the last hour of work.
struct MeanPower: Sendable {
  /// When the counted work exceeds this time, all weights are halved, so a measurement loses half its weight in
  /// each half hour of work.
  private static let memoryHours = 1.0

  private var milliwattHours = 0.0
  private var hours = 0.0

  /// The mean; `nil` before the first measurement.
  var milliwatts: Double? { hours > 0 ? milliwattHours / hours : nil }

  mutating func add(_ milliwatts: Double, hours: Double) {
    milliwattHours += milliwatts * hours
    self.hours += hours
    guard self.hours > MeanPower.memoryHours else { return }
    milliwattHours /= 2
    self.hours /= 2
  }
}
