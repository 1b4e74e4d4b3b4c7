import Guarding
import Hub

/// Keeps the tokens that Signal K servers have given to the hub, and where they answer pending requests. Only the hub's
/// user can read the file.
public final class SignalKTokens: Sendable {
  struct Entry: Codable, Equatable, Sendable {
    /// The token; `nil` until the server has given one.
    var token: String?
    /// The path at which the server says whether the pending request is approved; `nil` without a request.
    var href: String?
  }

  private let file: StateFile<[String: StateEntry<Entry>]>?
  /// The entries of this run, by server. They are also kept without a file.
  private let entries = Guarded<[String: Entry]>([:])

  /// - Parameters:
  ///   - path: the file; `nil` to keep the tokens only while the hub runs
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String?, makeFolder: @escaping @Sendable () -> Void) {
    file = path.map { StateFile(path: $0, mostBytes: 64 << 10, nothing: [:], mode: 0o600, makeFolder: makeFolder) }
  }

  /// Waits for the disk, unless the entry was used before.
  func entry(of server: SignalKServer) -> Entry {
    let key = "\(server)"
    if let entry = entries.withLock({ $0[key] }) { return entry }
    let entry = file?.content[key]?.value ?? Entry()
    entries.withLock { $0[key] = entry }
    return entry
  }

  /// Waits for the disk.
  func keep(_ entry: Entry, of server: SignalKServer) {
    let key = "\(server)"
    entries.withLock { $0[key] = entry }
    file?.change { $0[key] = entry == Entry() ? nil : StateEntry(entry) }
  }
}
