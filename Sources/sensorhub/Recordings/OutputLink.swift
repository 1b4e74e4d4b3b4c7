import CLinux
import Glibc
import HardwareIO

/// Checks whether an output path is a link.
enum OutputLink {
  /// Refuses a link that belongs to another user. Such a link could lead to any file that this user (for example root)
  /// may write. The kernel refuses such a link only in folders that every user may write to, such as /tmp.
  ///
  /// - Returns: the flag for open(2) that refuses a link made after this check
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
