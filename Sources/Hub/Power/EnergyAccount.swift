import MonotonicTime

/// What one device has come to: how long it was on, what that took, and who pays for it.
///
/// It is brought up to date before anything changes by which it goes on.
struct EnergyAccount: Sendable {
  /// What the device is supplied for.
  enum Use: Equatable, Sendable {
    /// It is wanted, and has not measured anything yet.
    case starting
    case measuring
    /// Nobody wants what it measures; it tells whether the board moves.
    case waitingForMotion
    /// Nobody wants it.
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
  /// What it draws, while a supply monitor says so.
  var measuredMilliwatts: Double?
  /// Those for whom it is held in the end, as the hub knows them.
  private(set) var payers: EnergyBills.Payers?
  /// What it has drawn at work, as far as that was measured.
  private var measuredWork = MeanPower()
  /// Those who pay for its start.
  private var starters: EnergyBills.Payers?
  /// Those for whom it waits for motion.
  private var waitingPayers: EnergyBills.Payers?
  private var asOf: MonotonicInstant
  private var isClosed = false

  init(at now: MonotonicInstant) { asOf = now }

  /// What it draws at work, as it was measured last; `nil` where it never was.
  var workingMilliwatts: Double? { measuredWork.milliwatts }

  /// Adds up the time and the energy since the last time.
  ///
  /// - Parameters:
  ///   - statedMilliwatts: what it has drawn since, where nobody has measured that
  ///   - book: where the same stands by the hour
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

  /// From here on those pay for whom it is held in the end.
  ///
  /// - Parameters:
  ///   - payers: `nil` for those of before
  ///   - waiting: who pays while it waits for motion; `nil` for those of before
  mutating func charge(_ payers: EnergyBills.Payers?, waiting: EnergyBills.Payers?) {
    self.payers = payers ?? self.payers
    starters = self.payers?.starters(after: starters)
    waitingPayers = waiting ?? waitingPayers
  }

  /// What it draws from here on stands in another one's.
  mutating func close() { isClosed = true }

  /// Goes on from what the one before it has come to, in which stands what was drawn until now.
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
