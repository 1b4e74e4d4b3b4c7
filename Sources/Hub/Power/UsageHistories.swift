import Guarding

/// The usage histories of all devices, by ID. They outlive reloads of the board file, and are stored in a file between
/// two runs of the hub.
public final class UsageHistories: Sendable {
  struct Entry: Sendable {
    var id: String
    var usageHistory: UsageHistory
  }

  /// The maximum number of histories. Devices that have left the board file keep theirs, because they may come back.
  static let limit = 64

  private let systemTime: @Sendable () -> Int64
  /// The histories, the last opened one at the end.
  private let entries = Guarded<[Entry]>([], rank: .usageHistories)

  /// - Parameter systemTime: nanoseconds since 1970
  public init(systemTime: @escaping @Sendable () -> Int64) { self.systemTime = systemTime }

  /// The usage history of a device. If another device had the name, the history is new and continues the name's energy
  /// log.
  func usageHistory(of id: String, _ identity: String) -> UsageHistory {
    entries.withLock { entries in
      let known = entries.firstIndex { $0.id == id }.map { entries.remove(at: $0) }
      let entry =
        known.flatMap { $0.usageHistory.identity == identity ? $0 : nil }
        ?? Entry(
          id: id, usageHistory: UsageHistory(of: identity, succeeding: known?.usageHistory, systemTime: systemTime))
      entries.append(entry)
      if entries.count > UsageHistories.limit { entries.removeFirst(entries.count - UsageHistories.limit) }
      return entry.usageHistory
    }
  }

  var snapshot: [Entry] { entries.withLock { $0 } }

  /// Restores the usage histories of a previous run of the hub.
  ///
  /// - Parameter file: the contents of the file
  /// - Returns: the errors of skipped entries
  /// - Throws: if nothing in the file is usable; then nothing is restored
  @discardableResult
  public func restore(_ text: [UInt8], file: String) throws(BoardError) -> [BoardError] {
    let (devices, problems) = try UsageHistoryFile.read(text, file: file)
    for (id, identity, content) in devices {
      let usageHistory = entries.withLock { entries -> UsageHistory? in
        if let known = entries.first(where: { $0.id == id }) { return known.usageHistory }
        guard entries.count < UsageHistories.limit else { return nil }
        let usageHistory = UsageHistory(of: identity, systemTime: systemTime)
        entries.insert(Entry(id: id, usageHistory: usageHistory), at: 0)
        return usageHistory
      }
      usageHistory?.restore(content, of: identity)
    }
    return problems
  }

  /// The text of the file.
  public var text: [UInt8] {
    Array(UsageHistoryFile.text(snapshot.map { ($0.id, $0.usageHistory.identity, $0.usageHistory.snapshot) }).utf8)
  }
}
