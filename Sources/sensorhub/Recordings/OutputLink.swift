import CLinux
import Glibc
import HardwareIO

/// What a link stands for that is in the place of a file to be written.
enum OutputLink {
  /// Refuses the link of another user, which could lead to any file that this user, root say, may write. The kernel does that only in
  /// folders such as /tmp.
  ///
  /// - Returns: the flag with which open(2) follows no link that is put there later
  static func flag(for path: String) throws(CommandError) -> Int32 {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return O_NOFOLLOW }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw CommandError(
        .noPermission, "'\(path)' is a link of \(Accounts.title(ofUser: status.st_uid)), which could lead anywhere",
        nextStep: "remove it, or name another file")
    }
    return 0
  }
}
