import MonotonicTime
import NMEA

/// The satellite data and the position that a receiver had before its supply was switched off. The host stores them for
/// a receiver without a backup supply.
public struct ReceiverKnowledge: Equatable, Sendable, Codable {
  /// The position at the time when the data was saved.
  public struct Position: Equatable, Sendable, Codable {
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    public var altitudeHAEMetres: Double?
    /// The standard deviation along one axis.
    public var sigmaMetres: Double

    /// The assumed speed of the board while the supply is off, as on a road.
    private static let metresPerSecond = 20.0
    /// The error in metres above which a position is useless for any receiver.
    private static let mostMetres = 300_000.0
    /// `usualSigmaMetres` is assumed if the receiver states no sigma; most receivers have about this sigma.
    /// `leastSigmaMetres` is the smallest sigma of any position.
    static let usualSigmaMetres = 50.0
    static let leastSigmaMetres = 10.0

    /// The position with its uncertainty `age` later; `nil` if the position is useless by then.
    func aged(by age: Duration) -> Position? {
      var place = self
      place.sigmaMetres += max(0, age.inSeconds) * Position.metresPerSecond
      return place.sigmaMetres <= Position.mostMetres ? place : nil
    }
  }

  /// The manufacturer, the model and the version of the receiver. Other receivers do not understand the data.
  public var receiver: String
  /// The unique number of the receiver, if it states one.
  public var uniqueID: String?
  /// When the data was saved, UTC in nanoseconds since 1970; `nil` if the host did not know the time.
  public var savedAt: Int64?
  /// When the data was saved, by the monotonic clock; `nil` if another process saved it.
  var savedAtInstant: MonotonicInstant?
  public var place: Position
  /// The receiver's report about the satellites, in its own format.
  public var database: [[UInt8]] = []
  /// Whether the receiver keeps the data itself, in its flash.
  public var isInFlash = false

  private enum CodingKeys: String, CodingKey { case receiver, uniqueID, savedAt, place, database, isInFlash }

  /// The time for which ephemerides are valid: four hours around their reference time (IS-GPS-200, 20.3.4.4).
  static let databaseLife = Duration.seconds(4 * 3600)

  /// Whether the data is from this receiver: the names are equal, and the unique numbers too if both are known.
  func isOf(_ receiver: any CommandedReceiver) -> Bool {
    guard self.receiver == receiver.name else { return false }
    guard let uniqueID, let other = receiver.identity.uniqueID else { return true }
    return uniqueID == other
  }

  /// Whether the data was saved before other data. Data from another process counts as older than data from this
  /// process.
  public func isOlder(than other: ReceiverKnowledge) -> Bool {
    switch (savedAtInstant, other.savedAtInstant) {
    case (let mine?, let others?): mine < others
    case (nil, nil): (savedAt ?? 0) < (other.savedAt ?? 0)
    case (let mine, _): mine == nil
    }
  }

  /// Makes the data older by the time for which the machine was suspended, in which the monotonic clock stood still.
  public mutating func age(by slept: Duration) { savedAtInstant?.moveBack(by: slept) }

  /// The age of the data; `nil` if it is unknown, because the host has restarted and does not know the time.
  func age(at now: MonotonicInstant, _ time: KnownTime?) -> Duration? {
    if let savedAtInstant { return now - savedAtInstant }
    guard let savedAt, let time else { return nil }
    let (age, overflows) = time.utc(at: now).nanosecondsSince1970.subtractingReportingOverflow(savedAt)
    return overflows || age < 0 ? nil : .nanoseconds(age)
  }
}

extension ReceiverKnowledge {
  /// The maximum length of a stored name.
  private static let longestName = 256
  /// The maximum length of a stored message. The length of a message has 16 bits, and database messages are far
  /// shorter.
  private static let longestMessage = 8192
  private static let mostDatabaseBytes = 1 << 16

  /// Reads stored data. The file may be damaged, so values that no receiver can have reported are errors.
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
    place = try values.decode(Position.self, forKey: .place)
    try require(place.isPossible, .place)
    database = try values.decode([[UInt8]].self, forKey: .database)
    let lengths = database.map(\.count)
    try require(lengths.allSatisfy { (1...ReceiverKnowledge.longestMessage).contains($0) }, .database)
    try require(lengths.reduce(0, +) <= ReceiverKnowledge.mostDatabaseBytes, .database)
    isInFlash = try values.decode(Bool.self, forKey: .isInFlash)
  }
}

extension ReceiverKnowledge.Position {
  fileprivate var isPossible: Bool {
    let isHigh = altitudeHAEMetres.map { (-20_000...1e6).contains($0) } ?? true
    return (-90...90).contains(latitudeDegrees) && (-180...180).contains(longitudeDegrees) && isHigh
      && (0...1e7).contains(sigmaMetres)
  }
}

/// The data that is still valid, to send back to a receiver.
struct GivenKnowledge: Sendable {
  /// The time; `nil` if the host does not know it.
  var time: KnownTime?
  var place: ReceiverKnowledge.Position?
  var database: [[UInt8]] = []
  /// Whether the receiver has the data in its flash.
  var isInFlash = false
}

/// The result of asking a receiver to report or store its data before its supply is switched off.
enum KeptKnowledge: Equatable, Sendable {
  case database([[UInt8]])
  case inFlash
  /// The protocol has no request for the data. Only time and position can be sent at the next start.
  case nothing
  case refused
  case unanswered
}

/// The functions that store a receiver's data and state the host's time.
public struct KnowledgeKeeping: Sendable {
  var present: @Sendable () -> ReceiverKnowledge?
  var keep: @Sendable (ReceiverKnowledge?) -> Void
  var time: @Sendable () -> KnownTime?

  /// - Parameters:
  ///   - present: returns the stored data of the receiver
  ///   - keep: replaces the stored data, without waiting for a disk
  ///   - time: returns the host's time; `nil` if its clock is not confirmed
  public init(
    present: @escaping @Sendable () -> ReceiverKnowledge?, keep: @escaping @Sendable (ReceiverKnowledge?) -> Void,
    time: @escaping @Sendable () -> KnownTime?
  ) {
    self.present = present
    self.keep = keep
    self.time = time
  }

  /// Stores nothing.
  public static let none = KnowledgeKeeping(present: { nil }, keep: { _ in }, time: { nil })
}

/// The time by the host's clock, and the accuracy of that clock.
public struct KnownTime: Equatable, Sendable {
  /// The UTC at the instant `at`.
  public var utc: UTCTime
  public var at: MonotonicInstant
  /// The standard deviation of `utc`.
  public var sigma: Duration

  public init(utc: UTCTime, at: MonotonicInstant, sigma: Duration) {
    self.utc = utc
    self.at = at
    self.sigma = sigma
  }

  /// The UTC at another instant, shortly after `at`.
  func utc(at now: MonotonicInstant) -> UTCTime {
    let (sum, overflows) = utc.nanosecondsSince1970.addingReportingOverflow((now - at).inNanoseconds)
    return overflows ? utc : UTCTime(nanosecondsSince1970: sum)
  }
}
