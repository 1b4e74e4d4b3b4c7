import Guarding
import HardwareIO
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

  /// The entries by `fileKey`.
  private let file: StateFile<[String: StateEntry<Entry>]>?
  /// The entries of this run. They are also kept without a file.
  private let entries = Guarded<[SignalKServer.ID: Entry]>([:])

  /// - Parameters:
  ///   - path: the file; `nil` to keep the tokens only while the hub runs
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String?, makeFolder: @escaping @Sendable () -> Void) {
    file = path.map { StateFile(path: $0, mostBytes: 64 << 10, nothing: [:], mode: 0o600, makeFolder: makeFolder) }
  }

  /// Waits for the disk, unless the entry was used before.
  func entry(of server: SignalKServer.ID) -> Entry {
    if let entry = entries.withLock({ $0[server] }) { return entry }
    let entry = file?.content[SignalKTokens.fileKey(of: server)]?.value ?? Entry()
    entries.withLock { $0[server] = entry }
    return entry
  }

  /// Waits for the disk.
  func keep(_ entry: Entry, of server: SignalKServer.ID) {
    entries.withLock { $0[server] = entry }
    file?.change { $0[SignalKTokens.fileKey(of: server)] = entry == Entry() ? nil : StateEntry(entry) }
  }

  /// The key of a server in the file: its address as in a board file, always with the port.
  ///
  /// The files of all versions have these keys, so they must stay the same even if messages show a server differently.
  /// With other keys, the hub would forget its tokens, and an administrator would have to approve it again.
  private static func fileKey(of server: SignalKServer.ID) -> String {
    "\(server.transport.rawValue)://\(HostPort.text(server.host, server.port))"
  }
}
