import Fusion
import MonotonicTime
import Publishing

/// A subscriber's request: for states at a rate, for fixes at an interval or within an error, or for one known state.
/// It also says which parts, which accuracy and which age are enough, and which values are left out or collected.
///
/// Sockets, HTTP, MQTT, the command line and board files use the same keys, with the same ranges. Only this type
/// defines the keys, and which of them can be combined.
///
/// ```swift
/// var values = ViewRequest.Values()
/// values.numbers[.every] = 60
/// values.numbers[.accuracy] = 10
/// let request = try ViewRequest(values)  // a fix a minute, 95 % within 10 m
/// ```
public struct ViewRequest: Equatable, Sendable {
  /// The maximum rate of states; `nil` for the board's own rate.
  public var rateHz: Double?
  /// The parts of the state; `nil` for all parts.
  public var parts: Set<StatePart>?
  /// The time from one fix to the next.
  public var every: Duration?
  /// The radius that must contain the true position with a probability of 95 %.
  public var accuracyMetres: Double?
  /// The time limit of one value, during which devices may be awake.
  public var within: Duration?
  /// How far the position must have moved since the last value.
  public var distanceMetres: Double?
  /// The maximum age of a known value that is enough.
  public var maxAge: Duration?
  /// The time for which values are collected before they are delivered together.
  public var batch: Duration?
  /// The largest error of the position, also between fixes: 95 % of the positions are within this radius of the truth.
  /// The hub takes as many fixes as this needs.
  public var errorMetres: Double?

  public init(rateHz: Double? = nil, parts: Set<StatePart>? = nil) {
    self.rateHz = rateHz
    self.parts = parts
  }

  public enum Key: String, CaseIterable, Sendable {
    case rateHz, parts, every, accuracy, within, distance, maxAge, batch, error
  }

  /// The keys and values of a request, before they are checked.
  public struct Values: Sendable {
    public var numbers: [Key: Double] = [:]
    public var parts: [String]?

    public init() {}

    fileprivate func has(_ key: Key) -> Bool { key == .parts ? parts != nil : numbers[key] != nil }
  }

  /// - Parameter rates: the permitted range of `rateHz`
  /// - Throws: the first mistake
  public init(_ values: Values, rates: ClosedRange<Double> = ViewRequest.ratesHz) throws(Mistake) {
    for key in Key.allCases {
      guard let number = values.numbers[key] else { continue }
      let range = key == .rateHz ? rates : key.range
      guard range.contains(number) else { throw .outOfRange(key, range) }
    }
    if let names = values.parts {
      guard let parts = Set<StatePart>(names: names) else { throw .parts(unknown: ViewRequest.unknown(names)) }
      self.parts = parts
    }
    func duration(_ key: Key) -> Duration? { values.numbers[key].map { .nanoseconds(Int64($0 * 1e9)) } }
    rateHz = values.numbers[.rateHz]
    every = duration(.every)
    accuracyMetres = values.numbers[.accuracy]
    within = duration(.within)
    distanceMetres = values.numbers[.distance]
    maxAge = duration(.maxAge)
    batch = duration(.batch)
    errorMetres = values.numbers[.error]
    try ViewRequest.requireFitting(values)
    if distanceMetres != nil, let parts, !parts.contains(.position) { throw .distanceWithoutPosition }
  }

  /// Checks that the keys can be combined.
  private static func requireFitting(_ values: Values) throws(Mistake) {
    let (fixes, bounded): ([Key], [Key]) = ([.rateHz, .parts, .error], [.rateHz, .parts, .accuracy, .maxAge])
    for (key, others) in [(Key.every, fixes), (.error, bounded), (.maxAge, [Key.rateHz])] where values.has(key) {
      if let other = others.first(where: values.has) { throw .excludes(key, other) }
    }
    if values.has(.maxAge), !values.has(.every) {
      // A single value cannot be compared or collected with others.
      if let other = [Key.distance, .batch].first(where: values.has) { throw .excludes(.maxAge, other) }
    }
    if values.has(.every) || values.has(.maxAge) { return }
    if values.has(.accuracy) { throw .needs(.accuracy, [.every, .maxAge]) }
    if values.has(.within), !values.has(.error) { throw .needs(.within, [.every, .maxAge, .error]) }
  }

  private static func unknown(_ names: [String]) -> String? { names.first { StatePart(rawValue: $0) == nil } }

  /// Whether the request has no keys.
  public var isEmpty: Bool { self == ViewRequest() }

  /// Changes the request by a later line of the same client. A line with any key except the rate and the parts is a new
  /// request. The rate and the parts stay if the line does not name them, but a line that requests one state replaces
  /// the parts.
  public mutating func change(to line: ViewRequest) {
    guard !line.isEmpty else { return }
    let old = self
    var others = line
    (others.rateHz, others.parts) = (nil, nil)
    self = line
    rateHz = line.rateHz ?? old.rateHz
    if case .current = line.form { return }
    parts = line.parts ?? old.parts
    if others.isEmpty, old.form.isStates { (distanceMetres, batch) = (old.distanceMetres, old.batch) }
    guard let parts, !parts.contains(.position), distanceMetres != nil else { return }
    // If two lines cannot be combined, the later one counts.
    if line.distanceMetres == nil { distanceMetres = nil } else { self.parts = parts.union([.position]) }
  }
}

extension ViewRequest {
  public static let ratesHz = 0.01...1000.0
  static let distanceMetres = 0.1...100_000.0
  static let maxAgeSeconds = 0.0...31_622_400
  static let batchSeconds = 0.1...86_400.0
  static let errorMetres = 0.5...100_000.0
  /// The maximum number of collected values. When it is reached, they are delivered early. It is also the maximum
  /// number of values by which a client of a stream may fall behind.
  public static let mostInBatch = 64

  /// The form of the delivered values.
  public enum Form: Equatable, Sendable {
    case states(rateHz: Double?, parts: Set<StatePart>)
    case fixes(Schedule)
    /// One state.
    case current(CurrentValue)
    /// As many fixes as necessary to keep the error of the position (95 %) within this radius.
    case bounded(metres: Double, within: Duration)

    var isStates: Bool { if case .states = self { true } else { false } }
  }

  public var form: Form {
    let within = within ?? Schedule.usualWithin
    if let errorMetres { return .bounded(metres: errorMetres, within: within) }
    if let every {
      var schedule = Schedule(every: every, accuracyMetres: accuracyMetres, within: within)
      schedule.maxAge = maxAge
      return .fixes(schedule)
    }
    if let maxAge {
      return .current(
        CurrentValue(parts: parts ?? .all, maxAge: maxAge, accuracyMetres: accuracyMetres, within: within))
    }
    return .states(rateHz: rateHz, parts: parts ?? .all)
  }

  /// Whether the request is for fixes instead of states.
  public var asksForFixes: Bool { every != nil || errorMetres != nil }

  /// Whether some values are omitted or delayed.
  var isFiltered: Bool { distanceMetres != nil || batch != nil }
}

extension ViewRequest.Key {
  public var range: ClosedRange<Double> {
    switch self {
    case .rateHz, .parts: ViewRequest.ratesHz
    case .every: Schedule.everySeconds
    case .accuracy: Schedule.accuracyMetres
    case .within: Schedule.withinSeconds
    case .distance: ViewRequest.distanceMetres
    case .maxAge: ViewRequest.maxAgeSeconds
    case .batch: ViewRequest.batchSeconds
    case .error: ViewRequest.errorMetres
    }
  }

  /// The unit as it follows a range: ` seconds`.
  private var unit: String {
    switch self {
    case .rateHz: " states a second"
    case .parts: ""
    case .every, .within, .maxAge, .batch: " seconds"
    case .accuracy, .distance, .error: " metres"
    }
  }

  /// The expected value, for example `a number from 1 to 604800 seconds`.
  public func expectation(_ range: ClosedRange<Double>? = nil) -> String {
    if self == .parts { return "some of \(Set<StatePart>.all.names)" }
    let range = range ?? self.range
    return "a number from \(range.lowerBound.short) to \(range.upperBound.short)\(unit)"
  }
}

extension ViewRequest {
  /// A mistake in a request.
  public enum Mistake: Error, Equatable, CustomStringConvertible {
    case outOfRange(Key, ClosedRange<Double>)
    /// An unknown part; `nil` for an empty list.
    case parts(unknown: String?)
    /// The first key needs one of the others.
    case needs(Key, [Key])
    case excludes(Key, Key)
    case distanceWithoutPosition

    /// The key that the mistake is about.
    public var key: Key {
      switch self {
      case .outOfRange(let key, _), .needs(let key, _), .excludes(let key, _): key
      case .parts: .parts
      case .distanceWithoutPosition: .distance
      }
    }

    /// The reason as it follows the key: `must be a number from 1 to 604800 seconds`.
    public var reason: String {
      switch self {
      case .outOfRange(let key, let range): return "must be \(key.expectation(range))"
      case .parts(let unknown):
        let names = StatePart.allCases.map(\.rawValue)
        let guess = unknown.flatMap { NearestWord.guess($0, among: names) }.map { "; did you mean '\($0)'?" }
        return "must be \(Key.parts.expectation())\(guess ?? "")"
      case .needs(_, let others):
        return "needs \(others.map { "'\($0.rawValue)'" }.joined(separator: " or "))"
      case .excludes(let key, let other):
        let what =
          switch key {
          case .every: "requests fixes"
          case .error: "requests fixes as necessary"
          default: "without 'every' requests one value"
          }
        return "\(what), and cannot be combined with '\(other.rawValue)'"
      case .distanceWithoutPosition: return "needs the part 'position'"
      }
    }

    public var description: String { "'\(key.rawValue)' \(reason)" }
  }
}

extension ViewRequest {
  /// States in the requested form: with a distance, only those whose position has moved far enough; with a batch,
  /// several together.
  public func filtered(
    _ states: Deferred<FusedState, Never>, clock: any MonotonicTimeSource
  ) -> Deferred<FusedState, Never> {
    collected(distanceMetres.map { states.moved(metres: $0) } ?? states, clock)
  }

  /// Fixes in the requested form.
  public func filtered(
    _ fixes: Deferred<RequestedFix, Never>, clock: any MonotonicTimeSource
  ) -> Deferred<RequestedFix, Never> {
    collected(distanceMetres.map { fixes.moved(metres: $0) } ?? fixes, clock)
  }

  private func collected<Value: Sendable>(
    _ values: Deferred<Value, Never>, _ clock: any MonotonicTimeSource
  ) -> Deferred<Value, Never> {
    batch.map { values.batched(over: $0, atMost: ViewRequest.mostInBatch, clock: clock) } ?? values
  }
}
