import CSystemd

/// Tells systemd how the service is. Does nothing where there is no systemd.
public enum ServiceManager {
  public static func ready(status: String) { notify("READY=1\nSTATUS=\(status)") }
  public static func reloading() { notify("RELOADING=1") }
  public static func stopping() { notify("STOPPING=1\nSTATUS=powering off") }
  public static func watchdogPing() { notify("WATCHDOG=1") }

  /// How often a ping is due: half of what systemd waits for; `nil` where it does not watch.
  public static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  private static func notify(_ state: String) { _ = sd_notify(0, state) }
}
