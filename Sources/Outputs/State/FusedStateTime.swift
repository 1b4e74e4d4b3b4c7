import Fusion
import MonotonicTime
import NMEA

extension FusedState {
  /// UTC at an instant near this state: the receiver's last time, plus the monotonic time since the instant of its
  /// validity. `nil` before the receiver has stated a time.
  ///
  /// Each part of a state is valid at an instant of its own, and so has a time of its own: with an IMU the position is
  /// that of the newest sample, up to a second newer than the fix on which it is based.
  func utc(at instant: MonotonicInstant) -> UTCTime? {
    guard let fix, let utc = fix.value.utcNanoseconds else { return nil }
    return UTCTime(nanosecondsSince1970: utc &+ (instant.nanoseconds &- fix.at.nanoseconds))
  }

  /// The same as sentences say it, in whole hundredths of a second.
  func sentenceTime(at instant: MonotonicInstant) -> UTCTime? {
    utc(at: instant).map { UTCTime(nanosecondsSince1970: $0.nanosecondsSince1970 / 10_000_000 * 10_000_000) }
  }

  /// The position is carried on without satellites: by the IMU where the receiver's last epoch has none, or by the receiver.
  var isReckoned: Bool {
    switch mode {
    case .deadReckoning: true
    case .fused: (fix?.value.mode ?? 0) < 2
    case .none, .attitude, .gnss, .asleep: fix?.value.status == 5
    }
  }

  /// 3 with a height, 2 without, and 1 or 0 without a position, where the receiver says that it has none or nothing at all.
  ///
  /// The position decides, and not the receiver's last epoch: that may lack a fix, under a bridge or in a tunnel, while
  /// the position is known well.
  var positionMode: Int {
    guard mode != .asleep, let position = position?.value else { return min(fix?.value.mode ?? 0, 1) }
    let hasHeight = position.altitudeHAEMetres != nil || position.altitudeMSLMetres != nil
    // Alone, the receiver knows best whether its height is more than a guess.
    if mode == .gnss, let fix, fix.value.mode >= 2 { return min(fix.value.mode, hasHeight ? 3 : 2) }
    return hasHeight ? 3 : 2
  }
}
