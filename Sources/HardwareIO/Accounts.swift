import Glibc

/// The accounts and groups of this machine.
public enum Accounts {
  /// The account and the group that the service runs as.
  public static let service = "sensorhub"

  /// The number of the service's account; `nil` if the service is not installed.
  public static let serviceUser: UInt32? = user(named: service)

  /// The number of the service's group; `nil` if the service is not installed.
  public static var serviceGroup: UInt32? { number(ofGroup: service) }

  /// Returns the number of a group, or `nil` if this machine does not have it.
  static func number(ofGroup name: String) -> UInt32? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var text = [CChar](repeating: 0, count: 1 << 16)
    guard getgrnam_r(name, &entry, &text, text.count, &found) == 0, found != nil else { return nil }
    return entry.gr_gid
  }

  /// Returns the name of an account, or `nil` if the user database does not have this number.
  public static func name(ofUser number: UInt32) -> String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 1 << 14)
    guard getpwuid_r(number, &entry, &text, text.count, &found) == 0, found != nil, let name = entry.pw_name else {
      return nil
    }
    return String(cString: name)
  }

  /// The account as error messages name it: `mallory`, or `user 1001`.
  public static func title(ofUser number: UInt32) -> String { name(ofUser: number) ?? "user \(number)" }

  /// Returns the groups of an account, including its primary group, according to the user database.
  public static func groups(ofUser number: UInt32) -> [UInt32] {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 1 << 14)
    guard getpwuid_r(number, &entry, &text, text.count, &found) == 0, found != nil, let name = entry.pw_name else {
      return []
    }
    var count: Int32 = 256
    var groups = [gid_t](repeating: 0, count: Int(count))
    // If the account has more groups than the array holds, only the first groups are returned.
    let result = getgrouplist(name, entry.pw_gid, &groups, &count)
    return Array(groups[..<min(result < 0 ? groups.count : Int(count), groups.count)])
  }

  private static func user(named name: String) -> UInt32? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 1 << 14)
    guard getpwnam_r(name, &entry, &text, text.count, &found) == 0, found != nil else { return nil }
    return entry.pw_uid
  }
}
