import Fusion
import MonotonicTime
import NMEA

extension FusedState {
  /// UTC at an instant near this state. It is the receiver's last time, plus the monotonic time since then. `nil`
  /// before the receiver has stated a time.
  ///
  /// Each part of a state has its own instant, and therefore its own time. With an IMU, the position is that of the
  /// newest sample, up to a second newer than its fix.
  func utc(at instant: MonotonicInstant) -> UTCTime? {
    guard let fix, let utc = fix.value.utcNanoseconds else { return nil }
    return UTCTime(nanosecondsSince1970: utc &+ (instant.nanoseconds &- fix.at.nanoseconds))
  }

  /// UTC at an instant in the precision of sentences, whole hundredths of a second.
  func sentenceTime(at instant: MonotonicInstant) -> UTCTime? {
    utc(at: instant).map { UTCTime(nanosecondsSince1970: $0.nanosecondsSince1970 / 10_000_000 * 10_000_000) }
  }

  /// Whether the position is dead-reckoned: by the IMU if the receiver's last epoch has no fix, or by the receiver.
  var isReckoned: Bool {
    switch mode {
    case .deadReckoning: true
    case .fused: (fix?.value.mode ?? 0) < 2
    case .none, .attitude, .gnss, .asleep: fix?.value.status == 5
    }
  }

  /// The mode of the position: 3 with a height, 2 without. Without a position it is 1 if the receiver says that it has
  /// none, and 0 if it says nothing.
  ///
  /// The position decides, and not the receiver's last epoch. Under a bridge or in a tunnel the epoch may lack a fix
  /// while the position is known well.
  var positionMode: Int {
    guard mode != .asleep, let position = position?.value else { return min(fix?.value.mode ?? 0, 1) }
    let hasHeight = position.altitudeHAEMetres != nil || position.altitudeMSLMetres != nil
    // Without fusion, the receiver knows best whether its height is more than a guess.
    if mode == .gnss, let fix, fix.value.mode >= 2 { return min(fix.value.mode, hasHeight ? 3 : 2) }
    return hasHeight ? 3 : 2
  }
}
