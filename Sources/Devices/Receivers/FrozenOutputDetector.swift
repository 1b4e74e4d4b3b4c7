import MonotonicTime
import NMEA

/// Detects a receiver that has hung but continues to send. Such a receiver repeats one position although it reports
/// motion, or it repeats one time.
///
/// A receiver that stands still and repeats its position is not frozen: it reports no speed, and its time continues.
struct FrozenOutputDetector: Sendable {
  enum Fault: Equatable, Sendable {
    case position
    case time
  }

  /// The lowest speed that counts as motion, m/s. Lower speeds are noise.
  private static let leastSpeed = 2.0
  /// The distance in metres that the receiver must have covered at its stated speed. The coarsest sentences resolve 18
  /// m.
  private static let distance = 50.0
  private static let leastRepetitions = 5
  /// The longest time for which a stated speed counts, seconds.
  private static let longestStep = 5.0
  /// A receiver is frozen if it sends more than `mostFrames`, but states no new time for this number of seconds plus
  /// three usual intervals.
  private static let longestEpoch = 10.0
  /// The maximum number of sentences and messages in an epoch.
  private static let mostFrames = 100

  private(set) var fault: Fault?
  private var position: Coordinate?
  private var heightMetres: Double?
  private var repetitions = 0
  private var travelled = 0.0
  private var last: MonotonicInstant?
  /// The receiver's usual interval of epochs, seconds.
  private var interval = 0.0
  private var framesAtEpoch = 0

  /// Takes the next epoch.
  ///
  /// - Returns: whether the epoch is trustworthy
  mutating func take(_ observation: borrowing GNSSObservation, frames: Int) -> Bool {
    let step = last.map { observation.at.seconds(since: $0) } ?? 0
    // One long pause at most doubles the usual interval.
    if last != nil { interval = min(step, interval == 0 ? step : interval * 2) }
    last = observation.at
    framesAtEpoch = frames
    let fix = observation.fix
    guard fix.mode >= .twoDimensional, let place = fix.position else {
      // A receiver that reports the loss of its fix has not hung.
      reset()
      return true
    }
    guard place == position, fix.altitudeHAEMetres == heightMetres else {
      reset()
      (position, heightMetres) = (place, fix.altitudeHAEMetres)
      return true
    }
    guard let speed = fix.speedMetresPerSecond, speed > FrozenOutputDetector.leastSpeed else {
      (repetitions, travelled) = (0, 0)
      fault = nil
      return true
    }
    repetitions += 1
    travelled += speed * min(step, FrozenOutputDetector.longestStep)
    if repetitions >= FrozenOutputDetector.leastRepetitions, travelled > FrozenOutputDetector.distance {
      fault = .position
    }
    return fault == nil
  }

  /// Checks whether the receiver sends many sentences and messages without completing an epoch.
  mutating func look(at now: MonotonicInstant, frames: Int) {
    guard fault == nil, let last, frames - framesAtEpoch > FrozenOutputDetector.mostFrames,
      now.seconds(since: last) > FrozenOutputDetector.longestEpoch + interval * 3
    else { return }
    fault = .time
  }

  /// The detector after a pause in reading, because one run may be too short to detect a frozen receiver. It keeps the
  /// repetitions of the position. It drops the fault, because the receiver may have restarted, and the time of the
  /// last epoch, because the receiver's time may have continued during the pause.
  var resumed: FrozenOutputDetector {
    var next = FrozenOutputDetector()
    (next.position, next.heightMetres) = (position, heightMetres)
    (next.repetitions, next.travelled) = (repetitions, travelled)
    return next
  }

  private mutating func reset() {
    fault = nil
    position = nil
    heightMetres = nil
    (repetitions, travelled) = (0, 0)
  }
}
