import CTestThreads
import Glibc
import Guarding

/// Calls a function on a thread that may not do what only root may do.
///
/// Tests that run as root would otherwise not see how the product treats a missing permission.
public enum UnprivilegedThread {
  /// The user that owns no files.
  private static let user: uid_t = 65534

  public static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    let results = Recorder<Result>()
    let error = DetachedThread.start("unprivileged") {
      if geteuid() == 0 { precondition(ctest_become_user(user) == 0, "cannot change the user") }
      results.append(body())
    }
    precondition(error == 0, "cannot start a thread: \(String(cString: strerror(error)))")
    return await results.first { _ in true }
  }
}
