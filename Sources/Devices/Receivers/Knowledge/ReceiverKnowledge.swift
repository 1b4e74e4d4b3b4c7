import MonotonicTime
import NMEA

/// The knowledge of a receiver without a backup supply before its supply was switched off, as stored by its host.
public struct ReceiverKnowledge: Equatable, Sendable, Codable {
  /// Where it was, as of when all of this was taken down.
  public struct Place: Equatable, Sendable, Codable {
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    public var altitudeHAEMetres: Double?
    /// One standard deviation.
    public var sigmaMetres: Double

    /// A board that is moved in the meantime usually goes by road.
    private static let metresPerSecond = 20.0
    /// With an error of this size it is useless for any receiver.
    private static let mostMetres = 300_000.0
    /// Where it did not say how sure it was: as good as most are, and never better than ten metres.
    static let usualSigmaMetres = 50.0
    static let leastSigmaMetres = 10.0

    /// Its accuracy after this additional time; `nil` once it is useless.
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
  /// Its report about the satellites, in its own format.
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

  /// Its age; `nil` if that is not known, after the host has restarted and does not know the time.
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

  /// A file may be damaged: values that no receiver can have reported are errors.
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

/// The knowledge that is sent back to a receiver: the part that is still valid.
struct GivenKnowledge: Sendable {
  /// `nil` where the host does not know it.
  var time: KnownTime?
  var place: ReceiverKnowledge.Place?
  var database: [[UInt8]] = []
  /// The receiver has it from its flash.
  var isInFlash = false
}

/// The result of the request to report or store knowledge before the supply is switched off.
enum KeptKnowledge: Equatable, Sendable {
  case database([[UInt8]])
  case inFlash
  /// In its language there is no such thing, and time and place are all that it can be told.
  case nothing
  case refused
  case unanswered
}

/// The store for a receiver's knowledge, and the host's own time and position.
public struct KnowledgeKeeping: Sendable {
  var present: @Sendable () -> ReceiverKnowledge?
  var keep: @Sendable (ReceiverKnowledge?) -> Void
  var time: @Sendable () -> KnownTime?

  /// - Parameters:
  ///   - present: the stored knowledge of the receiver
  ///   - keep: replaces it, without waiting for a disk
  ///   - time: the host's time; `nil` if its clock is not confirmed
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
