import Glibc

/// What `.ci/test-tools` has fetched.
public enum TestTools {
  /// The path of a tool; `nil` if it is not there.
  public static func path(_ name: String) -> String? {
    let variable = { (name: String) in getenv(name).map { String(cString: $0) } }
    let cache = variable("XDG_CACHE_HOME") ?? (variable("HOME") ?? "") + "/.cache"
    let path = "\(cache)/sensorhub/tools/\(name)"
    return access(path, R_OK) == 0 ? path : nil
  }
}
