import Glibc
import HardwareIO

/// The users that may make lasting changes, such as a calibration: root, the hub's own user, and the members of the
/// service's group. All others only read.
enum LocalRights {
  private static let overflow: UInt32 = 65534

  /// - Parameters:
  ///   - groups: those that the kernel names for the client's connection
  ///   - own: who the hub runs as
  ///   - group: the service's; `nil` if there is none on this machine
  static func mayChange(user: UInt32, groups: [UInt32], own: UInt32 = geteuid(), group: UInt32?) -> Bool {
    user == 0 || user == own || group.map(groups.contains) == true
  }

  /// Whether the client of a Unix socket may. The kernel tells who it was when it connected.
  static func mayChange(_ descriptor: Int32) -> Bool {
    let user = UnixSocket.guest(descriptor).user
    return mayChange(user: user, groups: UnixSocket.groups(descriptor), group: Accounts.serviceGroup)
  }

  /// The missing right.
  static var lack: String {
    let own = geteuid() == 0 ? "" : ", the account that the hub runs as (\(Accounts.title(ofUser: geteuid())))"
    return "it takes root\(own) or the group \(Accounts.service)"
  }

  /// The way to get the right.
  ///
  /// - Parameter command: the refused command
  static func nextStep(for command: String) -> String {
    let group =
      Accounts.serviceGroup == nil
      ? "" : "; or once: sudo usermod -aG \(Accounts.service) \"$USER\", and log in again"
    return "sudo \(command)\(group)"
  }

  /// Who a client is, for those who meet it: `calibrate[812] of mallory`. In the service's sandbox only root's name and the hub's own
  /// are known.
  static func title(_ holder: String, _ descriptor: Int32) -> String {
    let user = UnixSocket.guest(descriptor).user
    // Whom a sandbox does not know has this number in it, and is not that account.
    return user == overflow ? holder : Accounts.name(ofUser: user).map { "\(holder) of \($0)" } ?? holder
  }
}
