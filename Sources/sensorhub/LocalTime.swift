import CLinux
import Glibc
import NMEA

/// Formats times in this machine's time zone.
enum LocalTime {
  /// The local time, for example `2026-11-22 11:00:05 +01:00`; `nil` if it equals UTC.
  static func text(_ time: UTCTime) -> String? {
    var seconds = time_t(time.nanosecondsSince1970 / 1_000_000_000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil, parts.tm_gmtoff != 0 else { return nil }
    func two(_ value: Int) -> String { (value < 10 ? "0" : "") + "\(value)" }
    let day = "\(Int(parts.tm_year) + 1900)-\(two(Int(parts.tm_mon) + 1))-\(two(Int(parts.tm_mday)))"
    let clock = "\(two(Int(parts.tm_hour))):\(two(Int(parts.tm_min))):\(two(Int(parts.tm_sec)))"
    let minutes = abs(parts.tm_gmtoff) / 60
    let offset = "\(parts.tm_gmtoff < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    return "\(day) \(clock) \(offset)"
  }
}
