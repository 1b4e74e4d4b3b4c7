/// Judges fixes that contradict the inertial sensors, and decides which of the two is wrong.
///
/// - A fix after a pause has not jumped: the receiver has found its satellites again, for example after a tunnel, and
///   the inertial solution has drifted in the meantime. The fix is accepted immediately, unless no vehicle could have
///   driven that far during the pause.
/// - A fix that suddenly moves away, while the inertial sensors measure no such motion, has jumped. Reflections cause
///   this, and so does spoofing. The receiver is then ignored until it returns, or until the inertial solution is too
///   uncertain to contradict it.
/// - If the receiver's new position stays consistent for `persistence`, it is accepted. If the receiver's phases are
///   fixed relative to a base station, `patience` is enough, because such a receiver cannot be spoofed without that
///   base. If the receiver reports spoofing, the position is not accepted, however long it stays consistent.
/// - A receiver that repeats a position bit for bit while the inertial sensors move has frozen. It is ignored as long
///   as it repeats the position.
/// - A solution that has just begun is not reliable enough to contradict fixes, because the first fixes of a receiver
///   are its worst.
struct JumpRule: Sendable {
  enum Verdict {
    /// The fix has not jumped. Inertial solution and receiver differ for another reason, or after a pause.
    case none
    case refuse
    /// The new position has been consistent for long enough.
    case take
  }

  /// The smallest jump in metres. Smaller jumps are common reflections.
  static let leastJump = 30.0
  /// How long fixes and solution must have agreed before a fix can count as a jump, in seconds.
  static let trial = 30.0
  /// How long the new position of a receiver with fixed phases must be consistent, in seconds.
  static let patience = 7.0
  /// How long the new position of any other receiver must be consistent, in seconds.
  static let persistence = 60.0
  /// After a pause of more than `patience`, a plausible distance between solution and fix is at most this speed in m/s
  /// times the pause, plus `pauseDistance`.
  private static let pauseSpeed = 30.0
  /// The constant part of the plausible distance, in metres.
  private static let pauseDistance = 100.0

  /// When a contradiction began, and its latest size in metres.
  struct Contradiction: Equatable, Sendable {
    var since: Double
    var metres: Double
  }

  private(set) var contradiction: Contradiction?
  /// Whether the last fix repeated the previous one bit for bit while the solution moved.
  private(set) var isRepetition = false
  /// The vector from the solution to the fix, at the previous fix, in metres.
  private var lastOffset: SIMD3<Double>?
  private var lastPosition: GeodeticPosition?
  private var repetitions = 0
  private var heldSince = 0.0
  private static let leastRepetitions = 5
  /// How far the solution must have moved while the receiver repeats one position, in metres. The coarsest sentences
  /// resolve 18 m.
  private static let leastHeld = 30.0
  /// The time since which the offset has changed by at most `leastJump` from fix to fix.
  private var steadySince = 0.0

  /// Whether a fix is refused because it repeats a position bit for bit while the solution moves.
  ///
  /// - Parameter speed: the least plausible speed of the solution in m/s (`NavigationSolution.sureSpeed`)
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
    // A repeated position does not show that the new position is consistent.
    steadySince = fix.time
    return true
  }

  /// Records that fix and solution agree again.
  mutating func agreed(_ offset: SIMD3<Double>) {
    contradiction = nil
    lastOffset = offset
  }

  mutating func reset() {
    contradiction = nil
    isRepetition = false
    lastOffset = nil
  }

  /// Judges a fix that contradicts the solution.
  ///
  /// - Parameters:
  ///   - offset: the vector from the solution to the fix
  ///   - pause: the time since the previous fix, seconds
  ///   - agreement: how long fixes and solution have agreed, seconds
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
