import Devices
import Fusion
import Glibc
import Hub
import MonotonicTime
import TestSupport

/// A recorded drive, replayed through the hub's fusion and schedule, with a receiver that is on only when the schedule
/// wakes it.
///
/// The receiver reports the reference once a second, with the errors of an ordinary receiver. It has its first fix two to
/// six seconds after it was woken. The hub has learnt that from ten earlier starts.
public struct DriveReplay {
  /// The errors of an ordinary receiver: the sigma of its position, which drifts over a minute, and of its velocity.
  private static let (positionSigma, driftSeconds, velocitySigma) = (1.5, 60.0, 0.1)
  private static let startSeconds = 2.0...6.0
  private static let within = Duration.seconds(60)
  /// The interval at which the hub checks the states.
  private static let look = Duration.seconds(1)
  private static let samplesPerBurst = 10
  private static let client = 1

  private let drive: RecordedDrive
  private let metres: Double
  private let interval: Double?
  /// The indexes of the devices in the board's list.
  private let (imu, receiver): (Int, Int)
  private var random: SeededRandom
  private var fuser: Fuser
  private var bound: ErrorBound
  private var plan = SchedulePlan()
  private var starts = AcquisitionTimes()
  /// When the receiver was woken, and after how many seconds it has a fix; `nil` while it is off.
  private var start: (at: MonotonicInstant, takes: Double)?
  private var hasFix = false
  /// The state that is delivered when the fix is due.
  private var kept: FusedState?
  private var lastFix: FusedState.Position?
  private var lookedAt: MonotonicInstant?
  private var present: FusedState?
  private var receiverError = SIMD2<Double>.zero
  private var outcome = JourneyOutcome()

  /// The outcome of several replays, whose receivers have different errors and starts.
  ///
  /// - Parameters:
  ///   - bound: in metres
  ///   - isVehicle: whether the board file states that the board is in a vehicle
  ///   - replays: the number of replays
  public static func outcome(
    of drive: RecordedDrive, bound: Double, isVehicle: Bool, _ times: FixTimes, replays: Int
  ) -> JourneyOutcome? {
    let outcomes = (0..<replays).compactMap { number in
      let random = SeededRandom(seed: UInt64(number))
      var replay = DriveReplay(drive, bound: bound, isVehicle: isVehicle, times, random)
      return replay?.run()
    }
    return outcomes.count == replays ? JourneyOutcome(outcomes) : nil
  }

  private init?(
    _ drive: RecordedDrive, bound metres: Double, isVehicle: Bool, _ times: FixTimes, _ random: SeededRandom
  ) {
    let text = """
      { name: "drive", \(isVehicle ? "motion: \"vehicle\"," : "") devices: {
        imu: { driver: "mpu-6050", bus: "b", address: 0x68, rateHz: 100, burstRateHz: 10 },
        gps: { driver: "nmea", port: "p" } } }
      """
    guard let board = try? Board(json5: Array(text.utf8), file: "drive"),
      let imu = board.devices.firstIndex(where: { $0.id == "imu" }),
      let receiver = board.devices.firstIndex(where: { $0.id == "gps" })
    else { return nil }
    (self.imu, self.receiver) = (imu, receiver)
    self.drive = drive
    self.metres = metres
    self.random = random
    interval = if case .every(let seconds) = times { seconds } else { nil }
    fuser = Fuser(board)
    bound = ErrorBound(metres: metres, within: DriveReplay.within)
    for _ in 0..<10 {
      let seconds = Double.random(in: DriveReplay.startSeconds, using: &self.random) + 1
      starts.add(seconds, to: AcquisitionTimes.Grade(of: bound.schedule.accuracyMetres), after: .hot)
    }
  }

  private func instant(_ time: Double) -> MonotonicInstant { MonotonicInstant(nanoseconds: Int64((1000 + time) * 1e9)) }

  private mutating func run() -> JourneyOutcome {
    var next = 0
    var now = instant(0)
    _ = fuser.apply(.begin(FusionKnowledge()), at: now)
    receiverError = SIMD2(random.normal(DriveReplay.positionSigma), random.normal(DriveReplay.positionSigma))
    plan.add(DriveReplay.client, schedule, at: now)
    var batch = IMUBatch()
    for sample in drive.samples {
      now = instant(sample.time)
      while next < drive.truth.count, drive.truth[next].time <= sample.time {
        take(drive.truth[next], at: now)
        next += 1
      }
      batch.append(IMUSample(at: now, gyroscope: sample.gyroscope, accelerometer: sample.accelerometer))
      guard batch.count == DriveReplay.samplesPerBurst else { continue }
      batch.readAt = now
      // Dead reckoning uses no receiver, so it continues in both cases.
      present = fuser.apply(.imu(imu, batch), at: now) ?? present
      batch = IMUBatch()
      review(at: now)
      advance(to: now)
    }
    return outcome
  }

  /// The present request for fixes.
  private var schedule: Schedule {
    var schedule = bound.schedule
    if let interval { schedule.every = .nanoseconds(Int64(interval * 1e9)) }
    return schedule
  }

  private var lead: Duration {
    let grade = AcquisitionTimes.Grade(of: schedule.accuracyMetres)
    let seconds = starts.lead(to: grade, after: .hot, firstFixSeconds: nil)
    return min(.nanoseconds(Int64(seconds * 1e9)), DriveReplay.within)
  }

  /// Lets the hub wake the receiver, deliver fixes, and let it sleep.
  private mutating func advance(to now: MonotonicInstant) {
    let lead = lead
    for effect in plan.advance(to: now, lead: { _, _ in lead }) {
      switch effect {
      case .deliver:
        lastFix = kept?.position?.value ?? lastFix
        bound.receive(kept.flatMap { ErrorBound.Estimate($0, isStill: false) }, at: now)
        kept = nil
        if interval == nil { plan.change(DriveReplay.client, to: bound.schedule, at: now) }
      case .keep, .settled, .again: break
      }
    }
    // The new schedule may need the receiver again at once.
    _ = plan.advance(to: now, lead: { _, _ in lead })
    if plan.awake.isEmpty {
      start = nil
    } else if start == nil {
      start = (now, Double.random(in: DriveReplay.startSeconds, using: &random))
      hasFix = false
    }
  }

  /// Checks the state of dead reckoning once a second, as the hub does.
  private mutating func review(at now: MonotonicInstant) {
    guard interval == nil, let present, present.mode == .deadReckoning,
      lookedAt.map({ now - $0 >= DriveReplay.look }) ?? true,
      let estimate = ErrorBound.Estimate(present, isStill: false)
    else { return }
    lookedAt = now
    if bound.review(estimate, lead: lead, at: now) { plan.change(DriveReplay.client, to: bound.schedule, at: now) }
  }

  private mutating func take(_ truth: RecordedDrive.Truth, at now: MonotonicInstant) {
    // The reference comes four times a second.
    let keep = exp(-0.25 / DriveReplay.driftSeconds)
    let drift = DriveReplay.positionSigma * (1 - keep * keep).squareRoot()
    receiverError = keep * receiverError + SIMD2(random.normal(drift), random.normal(drift))
    let isWholeSecond = truth.time - truth.time.rounded(.down) < 0.25
    if isWholeSecond, let start, now.seconds(since: start.at) >= start.takes { report(truth, at: now) }
    // Before the first fix there is no position with any schedule.
    guard outcome.fixCount > 0 else { return }
    outcome.time += 1
    if start != nil { outcome.onTime += 1 }
    // Without dead reckoning a client keeps the last fix.
    outcome.errors.add(distance(present?.position?.value ?? lastFix, truth))
    outcome.errorsOfLastFix.add(distance(lastFix, truth))
  }

  private func distance(_ position: FusedState.Position?, _ truth: RecordedDrive.Truth) -> Double {
    guard let position else { return .infinity }
    let place = GeodeticPosition(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees, altitude: 0)
    let way = place.offset(from: truth.position)
    return (way.x * way.x + way.y * way.y).squareRoot()
  }

  /// Gives the hub an epoch of the receiver.
  private mutating func report(_ truth: RecordedDrive.Truth, at now: MonotonicInstant) {
    let place = truth.position.moved(by: SIMD3(receiverError.x, receiverError.y, 0))
    let velocity =
      truth.velocity + SIMD3(random.normal(DriveReplay.velocitySigma), random.normal(DriveReplay.velocitySigma), 0)
    let course = atan2(velocity.y, velocity.x) * 180 / .pi
    let epoch = ReceiverEpoch(
      at: instant(truth.time),
      quality: FusedState.FixQuality(mode: 3, status: 1, satellitesUsed: 10, hdop: 1, utcNanoseconds: nil),
      position: FusedState.Position(
        latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees,
        altitudeHAEMetres: place.altitude, altitudeMSLMetres: nil, horizontalSigmaMetres: DriveReplay.positionSigma,
        verticalSigmaMetres: 2 * DriveReplay.positionSigma),
      motion: FusedState.Motion(
        speedMetresPerSecond: (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot(),
        trackDegrees: course < 0 ? course + 360 : course, climbMetresPerSecond: -velocity.z,
        horizontalSigmaMetresPerSecond: DriveReplay.velocitySigma,
        verticalSigmaMetresPerSecond: 2 * DriveReplay.velocitySigma))
    guard let state = fuser.apply(.epoch(receiver, epoch), at: now) else { return }
    present = state
    for effect in plan.receive(fix: epoch.at, radiusMetres: state.radiusMetres, isHeldByOthers: false, at: now) {
      switch effect {
      case .keep:
        kept = state
        if outcome.fixCount == 0 { lastFix = state.position?.value }
      case .settled:
        outcome.fixCount += 1
        guard let start else { break }
        let grade = AcquisitionTimes.Grade(of: schedule.accuracyMetres)
        starts.add(now.seconds(since: start.at), to: grade, after: .hot)
      case .deliver, .again: break
      }
    }
  }
}
