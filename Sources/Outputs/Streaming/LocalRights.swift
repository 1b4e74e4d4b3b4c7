import Glibc
import HardwareIO

/// The users that may make lasting changes, such as a calibration: root, the hub's own user, and the members of the
/// service's group. All other users can only subscribe and read.
enum LocalRights {
  private static let overflow: UInt32 = 65534

  /// Whether a user may make lasting changes.
  ///
  /// - Parameters:
  ///   - groups: the groups of the client's connection, from the kernel
  ///   - own: the hub's user
  ///   - group: the service's group; `nil` if this machine has none
  static func mayChange(user: UInt32, groups: [UInt32], own: UInt32 = geteuid(), group: UInt32?) -> Bool {
    user == 0 || user == own || group.map(groups.contains) == true
  }

  /// Whether the client of a Unix socket may make lasting changes. The kernel reports the user at the time of the
  /// connection.
  static func mayChange(_ descriptor: Int32) -> Bool {
    let user = UnixSocket.guest(descriptor).user
    return mayChange(user: user, groups: UnixSocket.groups(descriptor), group: Accounts.serviceGroup)
  }

  /// The accounts that have the right, as the rest of a sentence after "…: ".
  static var lack: String {
    let own = geteuid() == 0 ? "" : ", the hub's account (\(Accounts.title(ofUser: geteuid())))"
    return "this needs root\(own) or the group \(Accounts.service)"
  }

  /// The next step after a refusal.
  ///
  /// - Parameter command: the refused command
  static func nextStep(for command: String) -> String {
    let group =
      Accounts.serviceGroup == nil
      ? "" : "; or once: sudo usermod -aG \(Accounts.service) \"$USER\", and log in again"
    return "sudo \(command)\(group)"
  }

  /// The name of a client for messages to other clients, for example `calibrate[812] of mallory`. In the service's
  /// sandbox only the names of root and the hub's own user are known.
  static func title(_ holder: String, _ descriptor: Int32) -> String {
    let user = UnixSocket.guest(descriptor).user
    // A sandbox shows all unknown users as this number, so the number does not identify an account.
    return user == overflow ? holder : Accounts.name(ofUser: user).map { "\(holder) of \($0)" } ?? holder
  }
}
