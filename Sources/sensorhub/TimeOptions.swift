import ArgumentParser
import Recording

/// A duration such as `90`, `90s`, `10m` or `1.5h`, from 0.1 s to 366 days. Without a unit it is in seconds.
struct DurationOption: ExpressibleByArgument {
  var duration: Duration

  init?(argument: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
    let unit = argument.last.flatMap { units[$0] }
    let number = unit == nil ? argument[...] : argument.dropLast()
    guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let value = Double(number) else {
      return nil
    }
    let seconds = value * (unit ?? 1)
    guard (0.1...366 * 86_400).contains(seconds) else { return nil }
    duration = .nanoseconds(Int64(seconds * 1e9))
  }
}

/// Parses the values of `--from` and `--to`.
enum TimeOption {
  static let help = """
    A TIME is 2026-11-22T10:00:00Z, or 2026-11-22T11:00:00+01:00 with an offset from UTC; or a day in UTC, \
    2026-11-22, which --from and --to include; or 10:00 or 10:00:00 in UTC on the recording's first day.
    """

  static func read(_ text: String) throws -> ExportTime {
    guard let time = ExportTime(text) else { throw ValidationError("give \(ExportTime.forms)") }
    return time
  }
}
