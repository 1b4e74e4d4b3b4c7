/// Writes sentences.
public enum SentenceWriter {
  /// Adds dollar sign, checksum and line end.
  public static func make(_ body: String) -> String {
    let checksum = body.utf8.reduce(UInt8(0)) { $0 ^ $1 }
    let digits = String(checksum, radix: 16, uppercase: true)
    return "$\(body)*\(digits.count == 1 ? "0" : "")\(digits)\r\n"
  }
}

/// Formats numbers, times, dates and coordinates for sentences.
public enum SentenceField {
  /// The number with fixed decimals; empty if the value is not a number, or its magnitude is 1e9 or more.
  public static func fixed(_ value: Double, _ decimals: Int) -> String {
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    guard value.magnitude < 1e9 else { return "" }
    let scaled = Int((value.magnitude * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    return decimals == 0 ? "\(sign)\(scaled)" : "\(sign)\(scaled / scale).\(padded(scaled % scale, decimals))"
  }

  public static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// The time of day, rounded to a hundredth of a second: `123519.00`.
  public static func time(_ utc: UTCTime) -> String {
    let parts = utc.rounded.components
    return padded(parts.hour, 2) + padded(parts.minute, 2) + padded(parts.second, 2) + "."
      + padded(parts.nanosecond / 10_000_000, 2)
  }

  /// The date of the rounded time: `311226`.
  public static func date(_ utc: UTCTime) -> String {
    let date = utc.rounded.components.date
    return padded(Int(date.day), 2) + padded(Int(date.month), 2) + padded(Int(date.year) % 100, 2)
  }

  /// A coordinate as `ddmm.mmmmmmm,N,dddmm.mmmmmmm,E`.
  public static func coordinate(_ latitude: Double, _ longitude: Double) -> String {
    angle(latitude, 2) + (latitude < 0 ? ",S," : ",N,") + angle(longitude, 3) + (longitude < 0 ? ",W" : ",E")
  }

  private static func angle(_ degrees: Double, _ width: Int) -> String {
    guard degrees.magnitude <= 180 else { return "" }
    // The unit is 1e-7 minutes, so that rounding never gives sixty minutes.
    let units = Int((degrees.magnitude * 60 * 1e7).rounded())
    let minutes = units % 600_000_000
    return padded(units / 600_000_000, width) + padded(minutes / 10_000_000, 2) + "." + padded(minutes % 10_000_000, 7)
  }
}
