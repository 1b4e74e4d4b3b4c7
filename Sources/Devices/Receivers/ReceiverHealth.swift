import Guarding
import MonotonicTime
import NMEA

/// A doubt about a receiver's position that comes from another source, for example from inertial sensors that measure
/// motion while the receiver repeats one position.
public final class ReceiverHealth: Sendable {
  /// The time after which a doubt ends by itself, because its source may never withdraw it.
  private static let shortestLifetime = Duration.seconds(5)

  private let lifetime: Duration
  private let contradictedAt = Guarded<MonotonicInstant?>(nil)

  /// - Parameter reportInterval: the time between two reports of the receiver. The source renews its doubt at each one
  public init(reportInterval: Duration = .seconds(1)) {
    lifetime = max(ReceiverHealth.shortestLifetime, reportInterval * 1.5)
  }

  /// Records whether another source contradicts the position at an instant.
  public func note(_ isContradicted: Bool, at instant: MonotonicInstant) {
    contradictedAt.withLock { $0 = isContradicted ? instant : nil }
  }

  func isContradicted(at now: MonotonicInstant) -> Bool {
    contradictedAt.withLock { $0.map { now - $0 < lifetime } ?? false }
  }

  /// Forgets the doubt, because the receiver restarts.
  func forget() { contradictedAt.withLock { $0 = nil } }
}

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
  /// The distance in metres that the receiver must have covered, by its stated speed, before it counts as frozen. The
  /// coarsest sentences state positions in steps of 18 m.
  private static let distance = 50.0
  private static let leastRepetitions = 5
  /// The longest time in seconds for which one stated speed adds to the covered distance.
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

  /// Examines the next epoch.
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

  /// Detects a receiver that sends many sentences and messages without completing an epoch.
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

/// Detects a receiver that receives enough satellites and still has no position, because its satellite data, time or
/// position is wrong. A receiver that receives too few satellites is probably under a roof, and is not reported.
struct FailedSearchDetector: Sendable {
  /// One satellite more than a position in space needs.
  private static let leastSatellites = 5
  /// The minimum strength at which a satellite's data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// A search that takes longer has failed. A start without any data takes half a minute.
  static let patience = Duration.seconds(120)
  /// The time for which a list of satellites is valid.
  private static let lifetime = Duration.seconds(10)

  private var hasFix = false
  /// The duration of the search before the last pause.
  private var before = Duration.zero
  private var hearsSince: MonotonicInstant?
  private var lastHeard: MonotonicInstant?

  mutating func take(_ observation: borrowing GNSSObservation) {
    if observation.fix.mode >= .twoDimensional { hasFix = true }
    let at = observation.at
    guard !hasFix, !observation.isFrozen else { return }
    if observation.sky.isEmpty {
      if let lastHeard, at - lastHeard > FailedSearchDetector.lifetime { lose() }
      return
    }
    lastHeard = at
    let heard = Set(observation.sky.filter { $0.signalStrength >= FailedSearchDetector.leastStrength }.map(\.number))
    if heard.count >= FailedSearchDetector.leastSatellites { hearsSince = hearsSince ?? at } else { lose() }
  }

  /// Ends the search, because too few satellites are received. The time before the last pause remains if no search has
  /// begun since, because every receiver receives too few satellites at first.
  private mutating func lose() {
    if hearsSince != nil { before = .zero }
    hearsSince = nil
  }

  /// Whether the receiver has searched for at least `patience` without success.
  func isVain(at now: MonotonicInstant) -> Bool {
    guard !hasFix, let hearsSince, let lastHeard else { return false }
    return now - lastHeard <= FailedSearchDetector.lifetime
      && before + (lastHeard - hearsSince) >= FailedSearchDetector.patience
  }

  /// The detector after a pause in reading, because one run may be too short to decide. It keeps the duration of the
  /// search, but the receiver must show again that it receives satellites.
  var resumed: FailedSearchDetector {
    var next = FailedSearchDetector()
    if hasFix { return next }
    if let lastHeard {
      next.before = hearsSince.map { before + (lastHeard - $0) } ?? .zero
    } else {
      next.before = before
    }
    return next
  }
}
