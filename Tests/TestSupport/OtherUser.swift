import CLinux
import Glibc
import Synchronization

/// Another user of this machine, for tests of attacks between users. Only root can act as one (`RootRights`).
public enum OtherUser {
  /// User numbers that are in no user database, and that no other test run uses.
  public static let mallory = 1_900_000_000 + UInt32(getpid()) * 2
  public static let victim = mallory + 1
  private static let lastOwn = Atomic<UInt32>(0)

  /// A user that nothing else runs as, for limits that count all processes of a user.
  public static func alone() -> UInt32 {
    1_920_000_000 + UInt32(getpid()) * 16 + lastOwn.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// Runs a program as another user, without a state folder in its environment.
  ///
  /// - Parameters:
  ///   - readsAll: whether the program may read everything that the test may, because the tested executable may be in
  ///     root's own folder; it may not write more
  public static func program(
    _ arguments: [String], path: String = Program.sensorhub, as user: UInt32 = mallory, groups: [UInt32] = [],
    readsAll: Bool = true, environment: [String] = []
  ) -> Program {
    let names = groups.isEmpty ? ["--clear-groups"] : ["--groups", groups.map { "\($0)" }.joined(separator: ",")]
    let capability = readsAll ? ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"] : []
    let homeless = [
      "/usr/bin/env", "-u", "HOME", "-u", "XDG_STATE_HOME", "-u", "XDG_RUNTIME_DIR", "-u", "RUNTIME_DIRECTORY", "-u",
      "STATE_DIRECTORY",
    ]
    return Program(
      names + ["--regid", "\(user)", "--reuid", "\(user)"] + capability + homeless + environment + [path] + arguments,
      path: "/usr/bin/setpriv")
  }

  /// Gives a file, a folder or a link itself to another user.
  public static func give(_ path: String, to user: UInt32 = mallory) -> Bool { lchown(path, user, user) == 0 }

  /// The mode of a file, a folder or a link itself; 0 if there is none.
  public static func mode(of path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }
}
