import MonotonicTime
import NMEA

/// Detects a receiver that has hung up but continues to send. It repeats one position although it reports motion, or it
/// repeats one time.
///
/// A receiver that stands still and holds its position reports no speed, and its time continues. That is correct
/// behaviour.
struct FrozenOutputDetector: Sendable {
  enum Fault: Equatable, Sendable {
    case position
    case time
  }

  /// The lowest speed that counts, m/s; lower ones are noise.
  private static let leastSpeed = 2.0
  /// The distance in metres that the stated speed must have covered. The coarsest sentences resolve 18 m.
  private static let distance = 50.0
  private static let leastRepetitions = 5
  /// The time for which a speed is trusted, seconds.
  private static let longestStep = 5.0
  /// The seconds without a new time, in addition to three usual intervals, after which a receiver that sends is frozen.
  private static let longestEpoch = 10.0
  /// The maximum number of sentences and messages in an epoch.
  private static let mostFrames = 100

  private(set) var fault: Fault?
  private var position: Coordinate?
  private var heightMetres: Double?
  private var repetitions = 0
  private var travelled = 0.0
  private var last: MonotonicInstant?
  /// The interval of its epochs, seconds.
  private var interval = 0.0
  private var framesAtEpoch = 0

  /// Takes the next epoch.
  ///
  /// - Returns: whether it is trustworthy
  mutating func take(_ observation: borrowing GNSSObservation, frames: Int) -> Bool {
    let step = last.map { observation.at.seconds(since: $0) } ?? 0
    // One long pause does not change the usual interval.
    if last != nil { interval = min(step, interval == 0 ? step : interval * 2) }
    last = observation.at
    framesAtEpoch = frames
    let fix = observation.fix
    guard fix.mode >= .twoDimensional, let place = fix.position else {
      // A receiver that loses its fix is alive.
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

  /// Checks sentences and messages that complete no epoch.
  mutating func look(at now: MonotonicInstant, frames: Int) {
    guard fault == nil, let last, frames - framesAtEpoch > FrozenOutputDetector.mostFrames,
      now.seconds(since: last) > FrozenOutputDetector.longestEpoch + interval * 3
    else { return }
    fault = .time
  }

  /// The knowledge that remains after a pause in reading: a visit may be too short to detect a frozen receiver. Whether
  /// it is frozen must be established again, because it may have restarted. Its time continued without being read, so
  /// nothing is known about it.
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
