import MonotonicTime

/// The totals of one device: its time on, its energy, and the payers.
///
/// It is brought up to date before anything changes that it depends on.
struct EnergyAccount: Sendable {
  /// The purpose of the device's supply.
  enum Use: Equatable, Sendable {
    /// It is wanted, and has not measured anything yet.
    case starting
    case measuring
    /// It has no subscribers; it watches for motion of the board.
    case waitingForMotion
    /// It has no holders.
    case resting

    fileprivate var isWanted: Bool { self == .starting || self == .measuring }
  }

  /// How long it was wanted.
  private(set) var onTime = Duration.zero
  /// Measured or stated.
  private(set) var milliwattHours = 0.0
  /// How much of that was measured.
  private(set) var measuredMilliwattHours = 0.0
  private(set) var bills = EnergyBills()
  /// Its measured power, while a supply monitor measures it.
  var measuredMilliwatts: Double?
  /// Those for whom it is held in the end, as the hub knows them.
  private(set) var payers: EnergyBills.Payers?
  /// Its measured power at work.
  private var measuredWork = MeanPower()
  /// Those who pay for its start.
  private var starters: EnergyBills.Payers?
  /// Those for whom it waits for motion.
  private var waitingPayers: EnergyBills.Payers?
  private var asOf: MonotonicInstant
  private var isClosed = false

  init(at now: MonotonicInstant) { asOf = now }

  /// Its last measured power at work; `nil` if it was never measured.
  var workingMilliwatts: Double? { measuredWork.milliwatts }

  /// Adds the time and the energy since the last call.
  ///
  /// - Parameters:
  ///   - statedMilliwatts: its power since then, if it was not measured
  ///   - book: the hourly record of the same
  mutating func goOn(until now: MonotonicInstant, _ use: Use, drawing statedMilliwatts: Double, _ book: PowerBook) {
    let elapsed = now - asOf
    asOf = now
    if isClosed { return }
    if use.isWanted { onTime += elapsed }
    let hours = elapsed.inSeconds / 3600
    let drawn = (measuredMilliwatts ?? statedMilliwatts) * hours
    milliwattHours += drawn
    if let measuredMilliwatts {
      measuredMilliwattHours += measuredMilliwatts * hours
      if use.isWanted { measuredWork.add(measuredMilliwatts, hours: hours) }
    }
    guard drawn > 0 else { return }
    let payers = payers(of: use)
    bills.charge(drawn, to: payers)
    book.charge(drawn, to: payers, over: elapsed.inSeconds)
  }

  private func payers(of use: Use) -> EnergyBills.Payers {
    switch use {
    case .resting: return .standby
    case .waitingForMotion:
      guard let waitingPayers, !waitingPayers.isEmpty else { return .standby }
      return waitingPayers
    case .starting, .measuring:
      guard let payers, !payers.isEmpty else { return .linger }
      return use == .measuring ? payers : starters ?? payers
    }
  }

  /// Whether others would pay from here on.
  ///
  /// - Parameters: as of `charge`
  func isNews(_ payers: EnergyBills.Payers?, waiting: EnergyBills.Payers?) -> Bool {
    payers.map { $0 != self.payers } == true || waiting.map { $0 != waitingPayers } == true
  }

  /// From now on these payers pay.
  ///
  /// - Parameters:
  ///   - payers: `nil` for the previous ones
  ///   - waiting: the payers while it waits for motion; `nil` for the previous ones
  mutating func charge(_ payers: EnergyBills.Payers?, waiting: EnergyBills.Payers?) {
    self.payers = payers ?? self.payers
    starters = self.payers?.starters(after: starters)
    waitingPayers = waiting ?? waitingPayers
  }

  /// Energy from now on is entered in another account.
  mutating func close() { isClosed = true }

  /// Continues with the totals of its predecessor, which contain the energy until now.
  mutating func open(with totals: RunTotals, at now: MonotonicInstant) {
    asOf = now
    (onTime, bills) = (totals.onTime, totals.bills)
    (milliwattHours, measuredMilliwattHours) = (totals.energyMilliwattHours, totals.measuredMilliwattHours)
  }
}

extension DeviceStatus {
  /// As of when it was last brought up to date.
  mutating func take(_ account: EnergyAccount) {
    onTime = account.onTime
    (energyMilliwattHours, measuredMilliwattHours) = (account.milliwattHours, account.measuredMilliwattHours)
  }
}
