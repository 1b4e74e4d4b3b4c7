/// Python with the packages that `.ci/test-tools` has fetched.
public enum Python {
  public static func program(_ arguments: [String]) -> Program {
    Program(
      ["python3"] + arguments, path: "/usr/bin/env", environment: ["PYTHONPATH=\(TestTools.path("python") ?? "")"])
  }
}
