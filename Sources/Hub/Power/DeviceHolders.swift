import Publishing

/// The holders of one device, direct and indirect, and the clients that pay for the device's energy.
struct DeviceHolders: Sendable {
  /// The holders. They stay in the set between two attempts of the device's reader.
  private var holders = HolderSet()
  private var shares = PayerShares()
  /// The shares of the holders for which the device waits for motion.
  private var waitingShares = PayerShares()

  var isEmpty: Bool { holders.isEmpty }

  /// The holders in the order of arrival.
  var list: [Holder] { holders.list }

  /// The clients that pay for the device; `nil` if the previous payers continue to pay.
  var payers: EnergyByClient.Payers? { shares.payers }

  /// The clients that pay while the device waits for motion; `nil` if the previous payers continue to pay.
  var waitingPayers: EnergyByClient.Payers? { waitingShares.payers }

  func contains(where isMeant: (Holder) -> Bool) -> Bool { holders.contains(where: isMeant) }

  mutating func came(_ holders: [Holder]) {
    for holder in holders where self.holders.insert(holder) { shares.add(holder) }
  }

  mutating func left(_ holders: [Holder]) {
    for holder in holders where self.holders.remove(holder) { shares.remove(holder) }
  }

  /// Records that the device waits for motion for these holders as well.
  mutating func cameToWait(_ holders: [Holder]) { for holder in holders { waitingShares.add(holder) } }

  mutating func leftWait(_ holders: [Holder]) { for holder in holders { waitingShares.remove(holder) } }
}

/// Counts the holders of a reader's run, or of its attempts, as holders of the device.
extension DeviceMonitor: HolderObserver {
  public func came(_ holders: [Holder]) { changeHolders { $0.came(holders) } }

  public func left(_ holders: [Holder]) { changeHolders { $0.left(holders) } }
}

/// Tells a device's monitor for which holders the device waits for motion.
struct MotionHolders: HolderObserver {
  let monitor: DeviceMonitor

  func came(_ holders: [Holder]) { monitor.changeHolders { $0.cameToWait(holders) } }

  func left(_ holders: [Holder]) { monitor.changeHolders { $0.leftWait(holders) } }
}
