import MonotonicTime
import NMEA

/// Whether a receiver knows the time. Before it has a fix it states what its own clock remembers, and after one it may
/// still jump once it has heard the leap seconds; one whose weeks have rolled over is years off for good.
struct TimeConfirmation {
  /// Epochs in a row that have to agree.
  private static let needed = 3
  /// By how much the arrival of an epoch may wander.
  private static let tolerance = 0.5
  /// Nobody had this program before: 2026-01-01.
  private static let earliest: Int64 = 1_767_225_600_000_000_000

  private var count = 0
  private var last: (time: Int64, at: MonotonicInstant)?

  /// Takes an epoch's time; returns whether it is confirmed.
  mutating func take(_ time: UTCTime?, isFix: Bool, at: MonotonicInstant) -> Bool {
    guard let time = time?.nanosecondsSince1970, isFix, time >= TimeConfirmation.earliest else {
      (count, last) = (0, nil)
      return false
    }
    let advance = last.map { Double(time - $0.time) / 1e9 - (at - $0.at).inSeconds }
    // The first has nothing to agree with.
    count = advance.map { abs($0) < TimeConfirmation.tolerance ? count + 1 : 1 } ?? 1
    last = (time, at)
    return count >= TimeConfirmation.needed
  }
}
