/// Judges fixes that lie far from where the inertial sensors say, and says which of the two is wrong.
///
/// - A fix that comes after a pause has not jumped: satellites are found again behind a tunnel, and what the inertial sensors
///   have drifted by meanwhile is the lesser evidence. It is taken at once, unless it is further off than anybody drives.
/// - One that was there a moment ago and is elsewhere now, while the inertial sensors felt nothing of it, has jumped. So do
///   reflections, and so does a receiver that is being deceived. From then on nothing of it is believed until it comes back, or
///   until the inertial solution has become so unsure that it contradicts no more.
/// - A receiver that stays at what it says for `persistence` is taken at its word, as is one whose phases are fixed against a
///   base after `patience`: it is not deceived without that base. One that reports spoofing itself is not.
/// - One that repeats a position to the last bit while the inertial sensors move has hung up, and is not believed however long
///   it does.
/// - Whoever has only begun to navigate has nothing to contradict with: the first fixes of a receiver are its worst.
struct JumpRule: Sendable {
  enum Verdict {
    /// No jump: inertial solution and receiver have come apart in another way, or after a pause.
    case none
    case refuse
    /// It has stayed there for so long.
    case take
  }

  /// So many metres at once; less than that reflections do all day.
  static let leastJump = 30.0
  /// Seconds for which both must have agreed.
  static let trial = 30.0
  /// Seconds without a fix that make a pause.
  static let patience = 7.0
  /// Seconds.
  static let persistence = 60.0
  /// m/s, and what is allowed beside it, metres.
  private static let pauseSpeed = 30.0
  private static let pauseDistance = 100.0

  /// Since when, and how far off it was last, metres.
  struct Contradiction: Equatable, Sendable {
    var since: Double
    var metres: Double
  }

  private(set) var contradiction: Contradiction?
  /// The last fix repeated the one before to the last bit, while the solution went on.
  private(set) var isRepetition = false
  /// Of fix and solution, at the fix before.
  private var lastOffset: SIMD3<Double>?
  private var lastPosition: GeodeticPosition?
  private var repetitions = 0
  private var heldSince = 0.0
  private static let leastRepetitions = 5
  /// How far it must have come meanwhile, metres: the coarsest sentences tell 18 m apart.
  private static let leastHeld = 30.0
  /// Since when the offset has been the same.
  private var steadySince = 0.0

  /// Whether a fix repeats a position to the last bit while the solution goes on; then it is refused.
  ///
  /// - Parameter speed: of the solution, m/s, as far as it is beyond doubt
  mutating func refusesRepetition(
    _ fix: GNSSMeasurement, offset: SIMD3<Double>, speed: Double, agreement: Double
  ) -> Bool {
    guard fix.position == lastPosition else {
      (lastPosition, repetitions, heldSince) = (fix.position, 0, fix.time)
      isRepetition = false
      return false
    }
    repetitions += 1
    guard repetitions >= JumpRule.leastRepetitions, speed * (fix.time - heldSince) > JumpRule.leastHeld,
      contradiction != nil || agreement > JumpRule.trial
    else {
      isRepetition = false
      return false
    }
    isRepetition = true
    let since = contradiction?.since ?? fix.time
    contradiction = Contradiction(since: since, metres: JumpRule.horizontal(offset))
    lastOffset = offset
    // As long as it does, it does not persist in anything else.
    steadySince = fix.time
    return true
  }

  /// The fix and the solution agree again.
  mutating func agreed(_ offset: SIMD3<Double>) {
    contradiction = nil
    lastOffset = offset
  }

  mutating func reset() {
    contradiction = nil
    isRepetition = false
    lastOffset = nil
  }

  /// - Parameters:
  ///   - offset: of the fix from the solution
  ///   - pause: since the fix before, seconds
  ///   - agreement: for how long navigation has gone on undisturbed, seconds
  mutating func judge(_ fix: GNSSMeasurement, offset: SIMD3<Double>, pause: Double, agreement: Double) -> Verdict {
    let distance = JumpRule.horizontal(offset)
    let step = lastOffset.map { JumpRule.horizontal(offset - $0) } ?? distance
    lastOffset = offset
    if contradiction != nil {
      if step > JumpRule.leastJump { steadySince = fix.time }
      contradiction?.metres = distance
      let needed = fix.trust == .vouched ? JumpRule.patience : JumpRule.persistence
      guard fix.trust != .doubted, fix.time - steadySince > needed else { return .refuse }
      contradiction = nil
      return .take
    }
    guard distance > JumpRule.leastJump, agreement > JumpRule.trial else { return .none }
    let isPause = pause > JumpRule.patience
    let isPlausible = distance < JumpRule.pauseDistance + JumpRule.pauseSpeed * pause
    let hasJumped = isPause ? fix.trust == .doubted || !isPlausible : step > 0.5 * distance
    guard hasJumped else { return .none }
    contradiction = Contradiction(since: fix.time, metres: distance)
    steadySince = fix.time
    return .refuse
  }

  static func horizontal(_ offset: SIMD3<Double>) -> Double {
    (offset.x * offset.x + offset.y * offset.y).squareRoot()
  }
}
