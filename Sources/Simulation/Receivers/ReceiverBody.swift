import Fusion
import Glibc
import MonotonicTime
import NMEA

/// The parts that all receivers have: a supply, a UART, a radio that needs time to start, and a memory.
struct ReceiverBody: Sendable {
  /// Bytes being transmitted, at the speed that the UART had when they were sent.
  struct Outgoing: Sendable {
    let due: MonotonicInstant
    let bytes: [UInt8]
    let speed: Int
  }

  let character: ReceiverCharacter
  let configuration: CommandedReceiver.Configuration
  private let world: World
  /// The UTC time at `start`. UTC advances with the receiver's clock, which may be any clock.
  private let startUTC: Int64
  private let start: MonotonicInstant

  private(set) var now: MonotonicInstant
  private(set) var phase = ReceiverPhase.off
  private var trackingSince: MonotonicInstant?
  private(set) var charge: ReceiverCharge
  private(set) var starts: [CommandedReceiver.Start] = []
  private(set) var outgoing: [Outgoing] = []
  /// When the current phase (boot, search or sleep) ends.
  private(set) var phaseEnds: MonotonicInstant?
  private(set) var nextEpoch: MonotonicInstant?
  /// Whether bytes on the UART end the sleep.
  private(set) var wakesByBytes = false
  /// When the receiver last booted.
  private(set) var began: MonotonicInstant
  private var noise: Noise
  private var error = SIMD3<Double>.zero
  private var frozen: Solution?
  /// When corrections started to arrive, and when the last one arrived.
  private var corrected: (since: MonotonicInstant, last: MonotonicInstant)?

  var speed: Int
  var navigation = NavigationMemory()
  var faults = ReceiverFaults()
  /// The enabled satellite systems.
  var systems: Set<SatelliteSystem> = [.gps]
  var savesPower = false { willSet { settle() } }
  /// The time between epochs.
  var interval = Duration.seconds(1) { didSet { if nextEpoch != nil { scheduleEpoch() } } }

  init(
    _ character: ReceiverCharacter, _ configuration: CommandedReceiver.Configuration, world: World,
    now: MonotonicInstant, utcNanoseconds: Int64
  ) {
    self.character = character
    self.configuration = configuration
    self.world = world
    self.now = now
    start = now
    began = now
    startUTC = utcNanoseconds
    speed = character.speed
    charge = ReceiverCharge(at: now)
    noise = Noise(seed: configuration.seed)
  }

  // MARK: Time

  var utc: UTCTime { utc(at: now) }

  private func utc(at instant: MonotonicInstant) -> UTCTime {
    UTCTime(nanosecondsSince1970: startUTC + (instant - start).inNanoseconds)
  }

  /// Advances the clock and the drawn charge, without processing events.
  mutating func pass(until instant: MonotonicInstant) {
    now = max(now, instant)
    settle()
  }

  private mutating func settle() { charge.draw(amperes, in: phase, until: now) }

  /// The present current in amperes.
  var amperes: Double {
    let currents = character.currents
    return switch phase {
    case .off: configuration.hasBackupSupply ? currents.memory : 0
    case .booting, .searching: currents.searching
    case .tracking: savesPower ? currents.saving : currents.tracking
    case .stopped: currents.stopped
    case .standby: currents.standby
    case .backup: currents.backup
    }
  }

  private mutating func enter(_ phase: ReceiverPhase, until end: MonotonicInstant? = nil) {
    settle()
    if self.phase == .tracking { keepEphemerides() }
    trackingSince = phase == .tracking ? trackingSince ?? now : nil
    self.phase = phase
    phaseEnds = end
    if phase != .searching, phase != .tracking { nextEpoch = nil }
  }

  /// Called at the end of tracking. Renews ephemerides that are older than two hours, if the receiver has tracked for
  /// the time in which a satellite transmits its ephemeris.
  private mutating func keepEphemerides() {
    guard let since = trackingSince, now - since >= NavigationMemory.ephemerisTime else { return }
    if let received = navigation.ephemeridesAt, now - received > .seconds(7200) { navigation.ephemeridesAt = now }
  }

  // MARK: Phases

  mutating func turnOff() {
    enter(.off)
    corrected = nil
    outgoing = []
    if !configuration.hasBackupSupply { navigation = NavigationMemory() }
  }

  /// Boots. Input is ignored until the boot is complete.
  mutating func boot() {
    enter(.booting, until: now + character.bootTime)
    began = now
  }

  /// Forgets the data that this kind of start does not keep, and ends the faults that it remedies.
  mutating func forget(for start: ReceiverStart) {
    navigation.forget(for: start)
    let order: [ReceiverStart] = [.hot, .warm, .cold]
    guard let remedy = faults.remedy, let needed = order.firstIndex(of: remedy),
      let given = order.firstIndex(of: start), given >= needed
    else { return }
    (faults.isFrozen, faults.findsNothing) = (false, false)
  }

  /// Searches for satellites. The duration depends on the receiver's knowledge.
  mutating func search() {
    let kind = navigation.start(at: now)
    let published = character.starts.time(kind)
    // Over many starts, the times vary by about an eighth.
    let time = published * (configuration.timeToFirstFixScale * exp(0.12 * noise.normal()))
    enter(.searching, until: faults.findsNothing ? nil : now + time)
    starts.append(CommandedReceiver.Start(kind: kind, at: now, timeToFirstFix: time))
    scheduleEpoch()
  }

  /// Shortens the search if new information allows a faster kind of start.
  mutating func wasHelped() {
    guard phase == .searching, navigation.start(at: now) != starts.last?.kind else { return }
    starts.removeLast()
    search()
  }

  /// Records that the host has sent the time or the position.
  ///
  /// - Parameter bringsAlmanac: whether the firmware contains an old almanac, which is sufficient once time and
  ///   position are known
  mutating func wasTold(time: Bool, place: Bool, bringsAlmanac: Bool) {
    if time, !navigation.hasTime { (navigation.hasTime, navigation.isAided) = (true, true) }
    if place, !navigation.hasPosition { (navigation.hasPosition, navigation.isAided) = (true, true) }
    if bringsAlmanac, navigation.hasTime, navigation.hasPosition { navigation.hasAlmanac = true }
    wasHelped()
  }

  /// Records a correction message, if the receiver resolves carrier phases with corrections.
  mutating func takeCorrection() {
    guard configuration.takesCorrections else { return }
    corrected = (since: correction == .none ? now : corrected?.since ?? now, last: now)
  }

  /// The state of the corrections. A ZED-F9P needs less than ten seconds to fix its ambiguities, and continues for a
  /// minute without corrections.
  private var correction: Solution.Correction {
    guard let corrected, now - corrected.last < .seconds(60) else { return .none }
    return now - corrected.since < .seconds(8) * configuration.timeToFirstFixScale ? .float : .fixed
  }

  mutating func gotFix() {
    enter(.tracking)
    navigation.gotFix(at: now)
  }

  mutating func stopRadio() { enter(.stopped) }

  /// Puts the receiver to sleep.
  ///
  /// - Parameters:
  ///   - phase: standby or backup
  ///   - duration: `nil` to sleep until an event wakes the receiver
  mutating func sleep(_ phase: ReceiverPhase, for duration: Duration?, wakesByBytes: Bool) {
    enter(phase, until: duration.map { now + $0 })
    self.wakesByBytes = wakesByBytes
  }

  private mutating func scheduleEpoch() {
    let step = max(interval.inNanoseconds, 1_000_000)
    let rest = step - utc.nanosecondsSince1970 % step
    nextEpoch = now + .nanoseconds(rest)
  }

  // MARK: Output

  mutating func say(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    outgoing.append(Outgoing(due: now, bytes: bytes, speed: speed))
  }

  mutating func answer(_ bytes: [UInt8]) {
    outgoing.append(Outgoing(due: now + faults.answerDelay, bytes: bytes, speed: speed))
  }

  mutating func answer(_ sentence: String) { answer(Array(SentenceWriter.make(sentence).utf8)) }
  mutating func say(_ sentence: String) { say(Array(SentenceWriter.make(sentence).utf8)) }

  /// Removes and returns the output that is due.
  mutating func takeOutgoing() -> [Outgoing] {
    let due = outgoing.filter { $0.due <= now }
    outgoing.removeAll { $0.due <= now }
    return due
  }

  // MARK: Position

  var satellites: [SimulatedSatellite] { SimulatedSatellite.all.filter { systems.contains($0.system) } }

  /// The true heading of the vehicle, from 0 up to 360.
  var headingDegrees: Double {
    let forward = world.truth(at: now).attitude.rotate(SIMD3(1, 0, 0))
    let degrees = atan2(forward.y, forward.x) * 180 / .pi
    return degrees < 0 ? degrees + 360 : degrees
  }

  /// Computes the solution of this epoch, and schedules the next epoch.
  mutating func solve() -> Solution {
    // The position error of a receiver changes over tens of seconds.
    error = error * 0.98 + noise.vector(configuration.positionSigmaMetres * 0.2)
    if !faults.isFrozen { frozen = nil }
    let solution = current
    if faults.isFrozen, solution.hasFix, frozen == nil { frozen = solution }
    scheduleEpoch()
    return solution
  }

  /// The solution that the receiver would report now.
  var current: Solution {
    let isUnderground = configuration.tunnel?.contains(now - world.start) ?? false
    let hasFix = phase == .tracking && !isUnderground
    let jump = SIMD3(faults.spoofing?.metres ?? 0, 0, 0)
    let correction = hasFix ? correction : .none
    var solution = Solution(
      world.truth(at: now), error: error * correction.share + jump, utc: utc, hasTime: navigation.hasTime,
      hasFix: hasFix, sigmaMetres: configuration.positionSigmaMetres * correction.share, satellites: satellites,
      runTime: now - began)
    solution.correction = correction
    if correction != .none, let corrected { solution.correctionAge = now - corrected.last }
    if faults.isFrozen, let frozen {
      solution.latitudeDegrees = frozen.latitudeDegrees
      solution.longitudeDegrees = frozen.longitudeDegrees
      solution.altitudeHAEMetres = frozen.altitudeHAEMetres
      solution.separationMetres = frozen.separationMetres
    }
    return solution
  }
}
