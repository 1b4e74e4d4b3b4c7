/// Python with the packages that `.ci/test-tools` has fetched.
public enum Python {
  /// Whether a module is there.
  public static func has(_ module: String) -> Bool {
    TestTools.path("python") != nil && program(["-c", "import \(module)"]).wait() == 0
  }

  public static func program(_ arguments: [String]) -> Program {
    Program(
      ["python3"] + arguments, path: "/usr/bin/env", environment: ["PYTHONPATH=\(TestTools.path("python") ?? "")"])
  }
}
