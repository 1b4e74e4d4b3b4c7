import Publishing

/// The energy per client. All energy is charged to some payer, so the sum is the total energy.
///
/// - Each subscriber pays an equal share of the device's energy while the device measures.
/// - The first subscriber pays for settling and acquiring, because the device would have started for it alone. Several
///   subscribers of one wake share the cost.
/// - `idleTimeout` is the energy of the idle time after the last subscriber. `standby` is the energy of a supply that
///   is on without a request.
public struct EnergyByClient: Equatable, Sendable {
  public struct ClientEnergy: Equatable, Sendable {
    /// The payer's name, or one of the names in brackets: `idleTimeout`, `standby` and `others`.
    public var payer: String
    public var milliwattHours: Double
  }

  /// The payers of some energy, and the share of each.
  struct Payers: Equatable, Sendable {
    struct Payer: Equatable, Sendable {
      var name: String
      /// The share of this payer, from 0 to 1.
      var part: Double
    }

    /// The payers in the order of their arrival.
    fileprivate(set) var payers: [Payer]

    static let idleTimeout = Payers([EnergyByClient.idleTimeout])
    static let standby = Payers([EnergyByClient.standby])

    fileprivate init(_ names: [String]) {
      payers = names.map { Payer(name: $0, part: 1 / Double(names.count)) }
    }

    /// Each holder of the device has one share, which its payer pays. Payers beyond the limit become `others`.
    ///
    /// - Parameters:
    ///   - shares: the payers in the order of their arrival, and the number of holders that each pays for; payers
    ///     without holders are ignored
    ///   - holderCount: the total number of holders in `shares`
    init(shares: some Sequence<(payer: String, holders: Int)>, of holderCount: Int) {
      payers = []
      var left = holderCount
      for (payer, holders) in shares where holders > 0 {
        if payers.count >= EnergyByClient.limit { break }
        payers.append(Payer(name: payer, part: Double(holders) / Double(holderCount)))
        left -= holders
      }
      guard left > 0 else { return }
      let part = Double(left) / Double(holderCount)
      if let index = payers.firstIndex(where: { $0.name == EnergyByClient.others }) {
        payers[index].part += part
      } else {
        payers.append(Payer(name: EnergyByClient.others, part: part))
      }
    }

    var isEmpty: Bool { payers.isEmpty }

    /// The payers of a start: those that caused it and are still present, or else the first present payer.
    ///
    /// - Parameter before: the previous payers of this start; empty at its beginning
    func starters(after before: Payers?) -> Payers {
      guard let before, !before.isEmpty else { return self }
      let left = payers.filter { payer in before.payers.contains { $0.name == payer.name } }
      if left.isEmpty { return Payers(payers.prefix(1).map(\.name)) }
      let sum = left.reduce(0) { $0 + $1.part }
      var starters = Payers([])
      starters.payers = left.map { Payer(name: $0.name, part: $0.part / sum) }
      return starters
    }
  }

  public static let idleTimeout = "(linger)"
  public static let standby = "(standby)"
  /// The payer that stands for all payers beyond the limit.
  public static let others = "(others)"
  /// The maximum number of payers. The payers with names in brackets do not count.
  static let limit = 12

  /// The energy per client, in the order of the clients' arrival.
  public private(set) var clients: [ClientEnergy] = []

  public init() {}

  public var milliwattHours: Double { clients.reduce(0) { $0 + $1.milliwattHours } }

  /// Charges energy to payers. This allocates only for a new payer.
  mutating func charge(_ milliwattHours: Double, to payers: Payers) {
    for payer in payers.payers { charge(milliwattHours * payer.part, to: payer.name) }
  }

  mutating func charge(_ milliwattHours: Double, to payer: String) {
    if let index = clients.firstIndex(where: { $0.payer == payer }) {
      clients[index].milliwattHours += milliwattHours
    } else if payer.utf8.first == 0x28 || clients.count(where: { $0.payer.utf8.first != 0x28 }) < EnergyByClient.limit {
      clients.append(ClientEnergy(payer: payer, milliwattHours: milliwattHours))
    } else {
      charge(milliwattHours, to: EnergyByClient.others)
    }
  }

  mutating func add(_ other: EnergyByClient) {
    for client in other.clients { charge(client.milliwattHours, to: client.payer) }
  }

  /// A payer's name in this list. An empty name, and one that begins with a bracket, becomes `others`.
  static func name(of payer: Payer) -> String {
    payer.name.isEmpty || payer.name.utf8.first == 0x28 ? others : payer.name
  }
}

/// The payers of a device and their shares. Each holder has one share, however many leases it has.
///
/// The work for a holder that arrives or leaves does not grow with the number of holders.
struct PayerShares: Sendable {
  private struct Share {
    /// The number of leases.
    var ways: Int
    /// The holder's payer; `nil` for a holder that only stands in for other holders.
    var payer: String?
  }

  private var holders: [HolderID: Share] = [:]
  /// The number of holders of each payer.
  private var shares: [String: Int] = [:]
  /// The payers in the order of their arrival.
  private var order: [String] = []
  /// The number of holders that only stand in for other holders.
  private var standInCount = 0

  /// The number of holders.
  var holderCount: Int { holders.count }

  /// Adds one lease of a holder. If a client gives its name while it holds the device, the payer of that name pays from
  /// now on, and the previous one no longer does.
  mutating func add(_ holder: Holder) {
    let payer = holder.payer.map(EnergyByClient.name)
    guard let before = holders[holder.id] else {
      holders[holder.id] = Share(ways: 1, payer: payer)
      return begin(payer)
    }
    holders[holder.id] = Share(ways: before.ways + 1, payer: payer)
    if before.payer == payer { return }
    begin(payer)
    end(before.payer)
  }

  mutating func remove(_ holder: Holder) {
    guard let before = holders[holder.id] else { return }
    if before.ways > 1 {
      holders[holder.id]?.ways = before.ways - 1
      return
    }
    holders[holder.id] = nil
    holders.giveBackCapacity()
    end(before.payer)
  }

  private mutating func begin(_ payer: String?) {
    guard let payer else {
      standInCount += 1
      return
    }
    let share = shares[payer] ?? 0
    shares[payer] = share + 1
    if share == 0 { order.append(payer) }
  }

  private mutating func end(_ payer: String?) {
    guard let payer else {
      standInCount -= 1
      return
    }
    guard let share = shares[payer] else { return }
    shares[payer] = share > 1 ? share - 1 : nil
    guard share == 1, let index = order.firstIndex(of: payer) else { return }
    order.remove(at: index)
    shares.giveBackCapacity()
  }

  /// The payers; `nil` if there are only stand-ins, so that the previous payers continue.
  var payers: EnergyByClient.Payers? {
    if order.isEmpty, standInCount > 0 { return nil }
    return EnergyByClient.Payers(
      shares: order.lazy.map { ($0, shares[$0] ?? 0) }, of: holders.count - standInCount)
  }
}
