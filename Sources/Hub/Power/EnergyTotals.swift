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
  /// The reason why the device has power.
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
