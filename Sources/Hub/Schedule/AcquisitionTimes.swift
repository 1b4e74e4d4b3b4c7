/// The time from a device's wake to a good enough fix, by the kind of start and the required accuracy. It says how
/// early the device must be woken.
///
/// This is a value without a clock. Only the last ten starts count, so that an unusual start is forgotten after ten
/// more.
public struct AcquisitionTimes: Equatable, Sendable {
  /// The radii (95 %) of the grades, metres. A request for 12 m is served as one for 10 m. The grade after the last
  /// radius is any fix.
  static let radiiMetres = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
  static let memory = 10
  /// The minimum number of starts to learn from.
  static let leastStarts = 3
  /// The assumed time from a wake to a fix, in seconds, until a start has been measured. A receiver without ephemerides
  /// needs about this long.
  static let assumedSeconds = 35.0
  /// A margin in seconds. Fixes come in epochs that are usually a second apart.
  private static let marginSeconds = 0.25

  /// A grade of accuracy: one of the radii, or any fix.
  public struct Grade: Hashable, Comparable, Sendable {
    /// The index of the radius; the number of radii means any fix.
    let index: Int

    static let all = (0...radiiMetres.count).map(Grade.init(index:))
    static let any = Grade(index: radiiMetres.count)

    fileprivate init(index: Int) { self.index = index }

    /// The grade for an accuracy: the widest radius within it.
    public init(of accuracyMetres: Double?) {
      guard let accuracyMetres else {
        self = .any
        return
      }
      index = radiiMetres.lastIndex { $0 <= accuracyMetres * 1.000001 } ?? 0
    }

    /// The name in files, for example `10` or `any`.
    var name: String { radiusMetres.map(\.short) ?? "any" }

    var radiusMetres: Double? { index < radiiMetres.count ? radiiMetres[index] : nil }

    /// Whether a fix of this radius reaches the grade. A fix of unknown radius only reaches `any`.
    func isReached(by radiusMetres: Double?) -> Bool {
      guard let limit = self.radiusMetres else { return true }
      return radiusMetres.map { $0 <= limit } ?? false
    }

    public static func < (lhs: Grade, rhs: Grade) -> Bool { lhs.index < rhs.index }
  }

  struct Start: Hashable, Sendable {
    var kind: RestartCosts.Kind
    var grade: Grade
  }

  /// The durations of the last starts in seconds, by kind of start and grade of fix, the latest at the end.
  private(set) var starts: [Start: [Double]] = [:]

  public init() {}

  /// - Parameter seconds: the time from the wake until a fix of the grade came, or until the allowed time was over
  public mutating func add(_ seconds: Double, to grade: Grade, after kind: RestartCosts.Kind) {
    guard seconds >= 0, seconds.isFinite else { return }
    let start = Start(kind: kind, grade: grade)
    starts[start] = Array(((starts[start] ?? []) + [seconds]).suffix(AcquisitionTimes.memory))
  }

  /// The durations of the last starts in seconds, the latest at the end.
  public func last(to grade: Grade, after kind: RestartCosts.Kind) -> [Double] {
    starts[Start(kind: kind, grade: grade)] ?? []
  }

  /// How long before the due time of a fix its device must be woken, so that the fix is usually in time.
  ///
  /// - Parameter firstFixSeconds: the time from a start of this kind to its first, inaccurate fix; `nil` if unknown
  public func lead(to grade: Grade, after kind: RestartCosts.Kind, firstFixSeconds: Double?) -> Double {
    let known = last(to: grade, after: kind)
    guard known.count >= AcquisitionTimes.leastStarts else {
      let seen = known.max()
      return max(seen ?? 0, firstFixSeconds ?? (seen == nil ? AcquisitionTimes.assumedSeconds : 0)) * 1.5 + 2
    }
    let sorted = known.sorted()
    let median = sorted[sorted.count / 2]
    var longest = sorted[sorted.count - 1]
    let next = sorted[sorted.count - 2]
    // One start that takes this much longer than all others is a coincidence; a second one is not.
    if known.count >= 5, longest > 2 * next { longest = next }
    // A future start may take longer than all known ones, so half the spread is added.
    return longest + (longest - median) / 2 + AcquisitionTimes.marginSeconds
  }
}

extension AcquisitionTimes {
  /// The explanation in sentences without a full stop, one for each kind of start.
  var explanation: [String] {
    RestartCosts.Kind.allCases.compactMap { kind in
      var parts: [String] = []
      var narrower: [Double] = []
      for grade in Grade.all {
        let seconds = last(to: grade, after: kind)
        // If a wider radius took no less time, the line of the narrower one covers it.
        guard let least = seconds.min(), let most = seconds.max(), seconds != narrower else { continue }
        narrower = seconds
        let aim = grade.radiusMetres.map { "to \($0.short) m" } ?? "to any fix"
        parts.append("\(least.short)\(most.short == least.short ? "" : " to \(most.short)") s \(aim)")
      }
      return parts.isEmpty
        ? nil : "for scheduled fixes \(kind.rawValue) starts took \(parts.joined(separator: ", "))"
    }
  }
}
