import CLinux
import Glibc
import HardwareIO

/// The files that the service may read although the user of this program may not, such as its passwords.
public enum ServiceFiles {
  /// Whether the service can read a file that this user may not read. If this user may not search the file's folder,
  /// the service is assumed to be able to. Always `false` for the service itself, and on a machine without it.
  public static func isForServiceAlone(_ file: String) -> Bool {
    guard let service = Accounts.serviceUser, service != geteuid(), access(file, R_OK) != 0, errno == EACCES else {
      return false
    }
    var status = stat()
    guard stat(file, &status) == 0 else { return errno == EACCES }
    return may(service, inGroups: Accounts.groups(ofUser: service), read: status)
  }

  /// Whether an account may read a file, by the file's owner, group and mode.
  static func may(_ user: UInt32, inGroups groups: [UInt32], read status: stat) -> Bool {
    if status.st_uid == user { return status.st_mode & S_IRUSR != 0 }
    return status.st_mode & (groups.contains(status.st_gid) ? S_IRGRP : S_IROTH) != 0
  }
}
