import CSystemd

/// Reports the state of the service to systemd. Without systemd it does nothing.
public enum ServiceManager {
  public static func ready(status: String) { notify("READY=1\nSTATUS=\(status)") }
  public static func reloading() { notify("RELOADING=1") }
  public static func stopping() { notify("STOPPING=1\nSTATUS=powering off") }
  public static func watchdogPing() { notify("WATCHDOG=1") }

  /// The interval of pings, half of systemd's limit; `nil` if systemd has no limit.
  public static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  private static func notify(_ state: String) { _ = sd_notify(0, state) }
}
