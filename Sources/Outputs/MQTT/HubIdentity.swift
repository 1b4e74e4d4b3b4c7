import CSystemd

/// What a hub is called at its broker where its board file does not say it.
public enum HubIdentity {
  /// `hub-3f0c9a7d52e1`, the same for as long as the machine's system is; `nil` where that has no number of its own. The number
  /// itself, which is nobody else's business, cannot be told from it.
  public static let ofMachine: String? = {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard csystemd_hub_identity(&bytes) == 0 else { return nil }
    return "hub-" + bytes.prefix(6).map { (Int($0) < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }()
}
