import CSystemd

/// The hub's name at its broker if the board file does not state one.
public enum HubIdentity {
  /// A name such as `hub-3f0c9a7d52e1`, constant until the system is installed again; `nil` if the system has no
  /// machine ID. The ID itself is private, and cannot be derived from the name.
  public static let ofMachine: String? = {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard csystemd_hub_identity(&bytes) == 0 else { return nil }
    return "hub-" + bytes.prefix(6).map { (Int($0) < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }()
}
