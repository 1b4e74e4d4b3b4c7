import ArgumentParser
import Recording

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
