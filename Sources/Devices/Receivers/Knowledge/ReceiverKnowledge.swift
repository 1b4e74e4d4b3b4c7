import MonotonicTime
import NMEA

/// What a receiver without a backup supply knew before its supply was switched off, as its host keeps it.
public struct ReceiverKnowledge: Equatable, Sendable, Codable {
  /// Where it was, as of when all of this was taken down.
  public struct Place: Equatable, Sendable, Codable {
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    public var altitudeHAEMetres: Double?
    /// One standard deviation.
    public var sigmaMetres: Double

    /// A board that is carried on meanwhile goes by road, more often than not.
    private static let metresPerSecond = 20.0
    /// So far off it is of no use to any receiver.
    private static let mostMetres = 300_000.0
    /// Where it did not say how sure it was: as good as most are, and never better than ten metres.
    static let usualSigmaMetres = 50.0
    static let leastSigmaMetres = 10.0

    /// As it is to be believed so much later; `nil` where it is of no use any more.
    func aged(by age: Duration) -> Place? {
      var place = self
      place.sigmaMetres += max(0, age.inSeconds) * Place.metresPerSecond
      return place.sigmaMetres <= Place.mostMetres ? place : nil
    }
  }

  /// Maker, model and version: what one has said no other understands.
  public var receiver: String
  /// Who that was, of those that say so.
  public var uniqueID: String?
  /// When it was taken down; `nil` where the host did not know the time.
  public var savedAt: Int64?
  /// The same by the clock of the process that took it down.
  var savedAtInstant: MonotonicInstant?
  public var place: Place
  /// What it has said of the satellites, in its own form.
  public var database: [[UInt8]] = []
  /// It has kept that itself, in its flash.
  public var isInFlash = false

  private enum CodingKeys: String, CodingKey { case receiver, uniqueID, savedAt, place, database, isInFlash }

  /// Ephemerides are good for four hours about their time of reference (IS-GPS-200, 20.3.4.4).
  static let databaseLife = Duration.seconds(4 * 3600)

  /// Whether it is this receiver's: what only another of its kind can say is not.
  func isOf(_ receiver: any CommandedReceiver) -> Bool {
    guard self.receiver == receiver.name else { return false }
    guard let uniqueID, let other = receiver.identity.uniqueID else { return true }
    return uniqueID == other
  }

  /// Whether it was taken down before another's. What another process has taken down is older than anything of this one's.
  public func isOlder(than other: ReceiverKnowledge) -> Bool {
    switch (savedAtInstant, other.savedAtInstant) {
    case (let mine?, let others?): mine < others
    case (nil, nil): (savedAt ?? 0) < (other.savedAt ?? 0)
    case (let mine, _): mine == nil
    }
  }

  /// The machine was suspended since, so that it is older by that.
  public mutating func age(by slept: Duration) { savedAtInstant?.moveBack(by: slept) }

  /// How old it is; `nil` where that is not known, after the host has started anew and does not know the time.
  func age(at now: MonotonicInstant, _ time: KnownTime?) -> Duration? {
    if let savedAtInstant { return now - savedAtInstant }
    guard let savedAt, let time else { return nil }
    let (age, overflows) = time.utc(at: now).nanosecondsSince1970.subtractingReportingOverflow(savedAt)
    return overflows || age < 0 ? nil : .nanoseconds(age)
  }
}

extension ReceiverKnowledge {
  /// Nothing that a receiver says of itself is longer.
  private static let longestName = 256
  /// A receiver's message has a length of 16 bits; no database message comes near.
  private static let longestMessage = 8192
  private static let mostDatabaseBytes = 1 << 16

  /// What a file says may be damaged: what no receiver can have said is an error.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    func require(_ isRight: Bool, _ key: CodingKeys) throws {
      if !isRight {
        throw DecodingError.dataCorruptedError(forKey: key, in: values, debugDescription: "out of range")
      }
    }
    receiver = try values.decode(String.self, forKey: .receiver)
    try require(receiver.utf8.count <= ReceiverKnowledge.longestName, .receiver)
    uniqueID = try values.decodeIfPresent(String.self, forKey: .uniqueID)
    try require(uniqueID.map { $0.utf8.count <= ReceiverKnowledge.longestName } ?? true, .uniqueID)
    savedAt = try values.decodeIfPresent(Int64.self, forKey: .savedAt)
    try require((savedAt ?? 0) >= 0, .savedAt)
    place = try values.decode(Place.self, forKey: .place)
    try require(place.isPossible, .place)
    database = try values.decode([[UInt8]].self, forKey: .database)
    let lengths = database.map(\.count)
    try require(lengths.allSatisfy { (1...ReceiverKnowledge.longestMessage).contains($0) }, .database)
    try require(lengths.reduce(0, +) <= ReceiverKnowledge.mostDatabaseBytes, .database)
    isInFlash = try values.decode(Bool.self, forKey: .isInFlash)
  }
}

extension ReceiverKnowledge.Place {
  fileprivate var isPossible: Bool {
    let isHigh = altitudeHAEMetres.map { (-20_000...1e6).contains($0) } ?? true
    return (-90...90).contains(latitudeDegrees) && (-180...180).contains(longitudeDegrees) && isHigh
      && (0...1e7).contains(sigmaMetres)
  }
}

/// What is given back to a receiver: what of its knowledge is still true.
struct GivenKnowledge: Sendable {
  /// `nil` where the host does not know it.
  var time: KnownTime?
  var place: ReceiverKnowledge.Place?
  var database: [[UInt8]] = []
  /// The receiver has it from its flash.
  var isInFlash = false
}

/// What became of what a receiver was asked to say, or to keep, before its supply goes.
enum KeptKnowledge: Equatable, Sendable {
  case database([[UInt8]])
  case inFlash
  /// In its language there is no such thing, and time and place are all that it can be told.
  case nothing
  case refused
  case unanswered
}

/// Where a host keeps what a receiver knew, and what it knows itself.
public struct KnowledgeKeeping: Sendable {
  var present: @Sendable () -> ReceiverKnowledge?
  var keep: @Sendable (ReceiverKnowledge?) -> Void
  var time: @Sendable () -> KnownTime?

  /// - Parameters:
  ///   - present: what is kept of the receiver
  ///   - keep: replaces that; does not wait for a disk
  ///   - time: as the host knows it; `nil` where nobody has confirmed its clock
  public init(
    present: @escaping @Sendable () -> ReceiverKnowledge?, keep: @escaping @Sendable (ReceiverKnowledge?) -> Void,
    time: @escaping @Sendable () -> KnownTime?
  ) {
    self.present = present
    self.keep = keep
    self.time = time
  }

  /// Keeps nothing.
  public static let none = KnowledgeKeeping(present: { nil }, keep: { _ in }, time: { nil })
}
