import Glibc

/// The rights of root. Some tests need them to act as another user, to take rights away from a program, or to mount a
/// file system.
public enum RootRights {
  /// Whether to run tests that need root. Only `SKIP=root` leaves them out; without root they fail.
  public static let areWanted = !isLeftOut("root")

  public struct Missing: Error, CustomStringConvertible {
    public var description: String {
      "this test needs root: run the tests as root, or leave those that need root out: make test SKIP=root"
    }
  }

  /// Throws if the tests do not run as root.
  public static func require() throws { if geteuid() != 0 { throw Missing() } }
}

/// Tells whether the variable SKIP contains this word, as `.ci/left-out` does.
func isLeftOut(_ word: String) -> Bool {
  (getenv("SKIP").map { String(cString: $0) } ?? "").split { $0 == " " || $0 == "," }.contains { $0 == word }
}
