import UBX

/// Learns which sentence ends a receiver's epochs, so that an epoch can be reported as soon as its last sentence has
/// arrived, and not only when the next epoch begins.
///
/// Receivers send the same sentences in the same order in nearly every epoch. If a sentence was the last one of several
/// consecutive epochs, the detector predicts that it ends the next one too, once the usual sentences have arrived. If a
/// relevant sentence arrives after such a prediction, the detector requires more evidence before it predicts again.
struct EndOfEpochDetector: Sendable {
  /// A sentence's place in an epoch.
  struct Position: Equatable, Sendable {
    var code: MessageCode
    /// The number of times that the sentence has come in the epoch, including this one.
    var occurrence: Int
  }

  private typealias Places = InlineArray<32, Position?>

  private static let initialEvidence = 2
  private static let maximumEvidence = 64
  /// The number of consecutive epochs in which sentences may follow the predicted end. If more consecutive epochs have
  /// such sentences, the prediction counts as wrong.
  private static let toleratedStragglers = 2

  private var candidate: Position?
  private var evidence = 0
  private var neededEvidence = initialEvidence
  /// The sentences of the current epoch, with one entry per talker and kind. A u-blox receiver with all its sentences
  /// and constellations on sends eighteen, and may send binary messages as well. If all entries are in use, further
  /// kinds are not recorded.
  private var seen = Places(repeating: nil)
  /// The sentences of the previous epoch.
  private var seenBefore = Places(repeating: nil)
  /// The kinds that both of the last two epochs contained. Kinds that come occasionally, such as lists of satellites,
  /// are not expected.
  private var usual = Places(repeating: nil)
  private var last: Position?
  /// The predicted end of this epoch.
  private var predicted: Position?
  private var epochsWithStragglers = 0

  /// Records a sentence or message of the current epoch.
  mutating func note(_ code: MessageCode) {
    var occurrence = 1
    for index in seen.indices {
      guard var place = seen[index] else {
        seen[index] = Position(code: code, occurrence: 1)
        break
      }
      if place.code == code {
        place.occurrence += 1
        occurrence = place.occurrence
        seen[index] = place
        break
      }
    }
    last = Position(code: code, occurrence: occurrence)
  }

  /// Whether the sentence has been seen in the current epoch.
  func hasSeen(_ code: MessageCode) -> Bool {
    EndOfEpochDetector.count(of: code, in: seen) > 0
  }

  /// Whether everything that came in both of the last two epochs has arrived.
  var hasSeenTheUsual: Bool {
    for index in usual.indices {
      guard let place = usual[index] else { return true }
      if EndOfEpochDetector.count(of: place.code, in: seen) < place.occurrence { return false }
    }
    return true
  }

  /// Whether the last recorded sentence is expected to end the epoch.
  var expectsEnd: Bool { evidence >= neededEvidence && last != nil && last == candidate && hasSeenTheUsual }

  /// Records that the epoch was reported because `expectsEnd` was true. A later sentence of the epoch may then show
  /// that the prediction was wrong.
  mutating func wasTakenAtItsWord() { predicted = last }

  /// Records that the prediction was wrong, because a sentence after the predicted end changed the fix.
  mutating func wasWrong() {
    evidence = 0
    neededEvidence = min(neededEvidence * 4, EndOfEpochDetector.maximumEvidence)
    predicted = nil
  }

  /// Begins the next epoch. The last recorded sentence ended the old one.
  mutating func beginEpoch() {
    let hasStragglers = predicted != nil && predicted != last
    epochsWithStragglers = hasStragglers ? epochsWithStragglers + 1 : 0
    let isTolerated = hasStragglers && epochsWithStragglers <= EndOfEpochDetector.toleratedStragglers
    if let end = isTolerated ? predicted : last {
      if end == candidate {
        evidence = min(evidence + 1, EndOfEpochDetector.maximumEvidence)
      } else {
        candidate = end
        evidence = 1
      }
    }
    keepTheUsual()
    seenBefore = seen
    seen = Places(repeating: nil)
    last = nil
    predicted = nil
  }

  /// Begins the next epoch without learning from the old one.
  mutating func forgetEpoch() { seen = Places(repeating: nil) }

  private mutating func keepTheUsual() {
    usual = Places(repeating: nil)
    var count = 0
    for index in seen.indices {
      guard var place = seen[index] else { return }
      place.occurrence = min(
        place.occurrence, EndOfEpochDetector.count(of: place.code, in: seenBefore))
      guard place.occurrence > 0 else { continue }
      usual[count] = place
      count += 1
    }
  }

  private static func count(of code: MessageCode, in places: borrowing Places) -> Int {
    for index in places.indices {
      guard let place = places[index] else { return 0 }
      if place.code == code { return place.occurrence }
    }
    return 0
  }
}

/// Identifies a kind of message in any protocol.
struct MessageCode: Equatable, Sendable {
  private let value: UInt32

  @inline(__always)
  init(_ talker: Talker, _ kind: Sentence.Kind) {
    value = UInt32(talker.code) << 8 | UInt32(kind.rawValue)
  }

  init(_ message: borrowing BinaryFrame) {
    value = 1 << 31 | UInt32(message.format.rawValue) << 24 | UInt32(message.kind)
  }
}
