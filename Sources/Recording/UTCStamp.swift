import CLinux
import Glibc

/// A UTC time with a precision of seconds, for names and metadata.
public struct UTCStamp {
  private let parts: tm

  public init(nanosecondsSince1970: Int64) {
    var seconds = time_t(nanosecondsSince1970 / 1_000_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    self.parts = parts
  }

  /// The basic form, for example `20261122T211439Z`.
  public var basic: String { "\(date(""))T\(time(""))Z" }

  /// The extended form, for example `2026-11-22T21:14:39Z`.
  public var extended: String { "\(date("-"))T\(time(":"))Z" }

  private func date(_ separator: String) -> String {
    [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)].map(UTCStamp.padded)
      .joined(separator: separator)
  }

  private func time(_ separator: String) -> String {
    [(Int(parts.tm_hour), 2), (Int(parts.tm_min), 2), (Int(parts.tm_sec), 2)].map(UTCStamp.padded)
      .joined(separator: separator)
  }

  static func padded(_ value: Int, to digits: Int) -> String {
    let text = "\(value)"
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
