import CLinux
import Glibc
import HardwareIO

/// Checks a link in the place of an output file.
enum OutputLink {
  /// Refuses a link of another user, which could lead to any file that this user, for example root, may write. The
  /// kernel checks this only in folders such as /tmp.
  ///
  /// - Returns: the flag with which open(2) does not follow a link that appears later
  static func flag(for path: String) throws(CommandError) -> Int32 {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return O_NOFOLLOW }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw CommandError(
        .noPermission,
        "'\(path)' is a link that belongs to \(Accounts.title(ofUser: status.st_uid)) and could lead anywhere",
        nextStep: "remove it, or name another file")
    }
    return 0
  }
}
