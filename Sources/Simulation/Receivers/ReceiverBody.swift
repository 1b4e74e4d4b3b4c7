import Glibc
import MonotonicTime
import NMEA

/// What all receivers have in common: a supply, a UART, a radio that takes its time, and a memory.
struct ReceiverBody: Sendable {
  /// Bytes that are on their way, at the speed that the UART had when they were said.
  struct Outgoing: Sendable {
    let due: MonotonicInstant
    let bytes: [UInt8]
    let speed: Int
  }

  let character: ReceiverCharacter
  let configuration: CommandedReceiver.Configuration
  private let world: World
  /// UTC when `start` was, so that any clock's hands may be turned.
  private let startUTC: Int64
  private let start: MonotonicInstant

  private(set) var now: MonotonicInstant
  private(set) var phase = ReceiverPhase.off
  private var trackingSince: MonotonicInstant?
  private(set) var charge: ReceiverCharge
  private(set) var starts: [CommandedReceiver.Start] = []
  private(set) var outgoing: [Outgoing] = []
  /// When what it does now ends: the boot, the search, a sleep.
  private(set) var phaseEnds: MonotonicInstant?
  private(set) var nextEpoch: MonotonicInstant?
  /// Whether bytes on its UART end its sleep.
  private(set) var wakesByBytes = false
  /// When it last began.
  private(set) var began: MonotonicInstant
  private var noise: Noise
  private var error = SIMD3<Double>.zero
  private var frozen: Solution?
  /// Since when corrections come, and when the last one came.
  private var corrected: (since: MonotonicInstant, last: MonotonicInstant)?

  var speed: Int
  var navigation = NavigationMemory()
  var faults = ReceiverFaults()
  /// Those that it listens to.
  var systems: Set<SatelliteSystem> = [.gps]
  var savesPower = false { willSet { settle() } }
  /// Between epochs.
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

  /// Sets its clock forward; nothing else happens.
  mutating func pass(until instant: MonotonicInstant) {
    now = max(now, instant)
    settle()
  }

  private mutating func settle() { charge.draw(amperes, in: phase, until: now) }

  /// What it draws now.
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

  /// While it tracks it replaces them every two hours, each of which takes it as long as a satellite takes to say one.
  private mutating func keepEphemerides() {
    guard let since = trackingSince, now - since >= NavigationMemory.ephemerisTime else { return }
    if let received = navigation.ephemeridesAt, now - received > .seconds(7200) { navigation.ephemeridesAt = now }
  }

  // MARK: What it does

  mutating func turnOff() {
    enter(.off)
    corrected = nil
    outgoing = []
    if !configuration.hasBackupSupply { navigation = NavigationMemory() }
  }

  /// Begins anew, and hears nothing until it has.
  mutating func boot() {
    enter(.booting, until: now + character.bootTime)
    began = now
  }

  /// It was told to start anew, with what is left for such a start.
  mutating func forget(for start: ReceiverStart) {
    navigation.forget(for: start)
    let order: [ReceiverStart] = [.hot, .warm, .cold]
    guard let remedy = faults.remedy, let needed = order.firstIndex(of: remedy),
      let given = order.firstIndex(of: start), given >= needed
    else { return }
    (faults.isFrozen, faults.findsNothing) = (false, false)
  }

  /// Looks for satellites; how long that takes depends on what it knows.
  mutating func search() {
    let kind = navigation.start(at: now)
    let published = character.starts.time(kind)
    // Of a good many starts the spread is about an eighth.
    let time = published * (configuration.timeToFirstFixScale * exp(0.12 * noise.normal()))
    enter(.searching, until: faults.findsNothing ? nil : now + time)
    starts.append(CommandedReceiver.Start(kind: kind, at: now, timeToFirstFix: time))
    scheduleEpoch()
  }

  /// It has been told something that may help while it searches.
  mutating func wasHelped() {
    guard phase == .searching, navigation.start(at: now) != starts.last?.kind else { return }
    starts.removeLast()
    search()
  }

  /// Its host has told it when or where it is.
  ///
  /// - Parameter bringsAlmanac: an old almanac comes with its firmware, and is enough once it knows both
  mutating func wasTold(time: Bool, place: Bool, bringsAlmanac: Bool) {
    if time, !navigation.hasTime { (navigation.hasTime, navigation.isAided) = (true, true) }
    if place, !navigation.hasPosition { (navigation.hasPosition, navigation.isAided) = (true, true) }
    if bringsAlmanac, navigation.hasTime, navigation.hasPosition { navigation.hasAlmanac = true }
    wasHelped()
  }

  /// A message of corrections has arrived.
  mutating func takeCorrection() {
    guard configuration.takesCorrections else { return }
    corrected = (since: correction == .none ? now : corrected?.since ?? now, last: now)
  }

  /// A ZED-F9P needs less than ten seconds, and goes on for a minute without.
  private var correction: Solution.Correction {
    guard let corrected, now - corrected.last < .seconds(60) else { return .none }
    return now - corrected.since < .seconds(8) * configuration.timeToFirstFixScale ? .float : .fixed
  }

  mutating func gotFix() {
    enter(.tracking)
    navigation.gotFix(at: now)
  }

  mutating func stopRadio() { enter(.stopped) }

  /// - Parameters:
  ///   - phase: standby or backup
  ///   - duration: `nil` until something wakes it
  mutating func sleep(_ phase: ReceiverPhase, for duration: Duration?, wakesByBytes: Bool) {
    enter(phase, until: duration.map { now + $0 })
    self.wakesByBytes = wakesByBytes
  }

  private mutating func scheduleEpoch() {
    let step = max(interval.inNanoseconds, 1_000_000)
    let rest = step - utc.nanosecondsSince1970 % step
    nextEpoch = now + .nanoseconds(rest)
  }

  // MARK: What it says

  mutating func say(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    outgoing.append(Outgoing(due: now, bytes: bytes, speed: speed))
  }

  mutating func answer(_ bytes: [UInt8]) {
    outgoing.append(Outgoing(due: now + faults.answerDelay, bytes: bytes, speed: speed))
  }

  mutating func answer(_ sentence: String) { answer(Array(SentenceWriter.make(sentence).utf8)) }
  mutating func say(_ sentence: String) { say(Array(SentenceWriter.make(sentence).utf8)) }

  /// What is due by now.
  mutating func takeOutgoing() -> [Outgoing] {
    let due = outgoing.filter { $0.due <= now }
    outgoing.removeAll { $0.due <= now }
    return due
  }

  // MARK: Where it is

  var satellites: [SimulatedSatellite] { SimulatedSatellite.all.filter { systems.contains($0.system) } }

  /// This epoch's.
  mutating func solve() -> Solution {
    // Errors of a receiver wander over tens of seconds.
    error = error * 0.98 + noise.vector(configuration.positionSigmaMetres * 0.2)
    if !faults.isFrozen { frozen = nil }
    let solution = current
    if faults.isFrozen, solution.hasFix, frozen == nil { frozen = solution }
    scheduleEpoch()
    return solution
  }

  /// As it would say it now.
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
