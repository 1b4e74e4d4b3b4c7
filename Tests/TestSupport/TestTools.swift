import Glibc

/// The tools that `.ci/test-tools` has fetched.
public enum TestTools {
  /// Returns the path of a tool, or `nil` if it is missing.
  public static func path(_ name: String) -> String? {
    let variable = { (name: String) in getenv(name).map { String(cString: $0) } }
    let cache = variable("XDG_CACHE_HOME") ?? (variable("HOME") ?? "") + "/.cache"
    let path = "\(cache)/sensorhub/tools/\(name)"
    return access(path, R_OK) == 0 ? path : nil
  }
}
