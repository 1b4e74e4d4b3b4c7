/// Learns which sentence ends a receiver's epochs, so that an epoch can be reported the moment its last sentence is
/// in, instead of when the next epoch begins.
///
/// Receivers send the same sentences in the same order in (nearly) every epoch. A sentence that was the last one of
/// several epochs in a row is taken to end the next one too, once everything has come that usually comes. When something
/// that matters arrives after such a prediction, the detector wants more evidence before it predicts again.
struct EndOfEpochDetector: Sendable {
  /// One sentence's place in an epoch.
  struct Place: Equatable, Sendable {
    var code: MessageCode
    /// How often it had come in the epoch, this time included.
    var occurrence: Int
  }

  private static let initialEvidence = 2
  private static let maximumEvidence = 64
  /// After this many epochs in a row with a sentence after the predicted end, the prediction is wrong.
  private static let toleratedStragglers = 2

  private var candidate: Place?
  private var evidence = 0
  private var neededEvidence = initialEvidence
  /// The sentences of the current epoch. Sixteen different ones are more than receivers send; further ones are
  /// counted together, which only makes the prediction more careful.
  private var seen = InlineArray<16, Place?>(repeating: nil)
  private var seenBefore = InlineArray<16, Place?>(repeating: nil)
  /// The kinds that both of the last two epochs contained. Kinds that come occasionally, such as lists of satellites,
  /// are not expected.
  private var usual = InlineArray<16, Place?>(repeating: nil)
  private var last: Place?
  /// Where this epoch was taken to be over.
  private var predicted: Place?
  private var epochsWithStragglers = 0

  /// Notes a sentence or message of the current epoch.
  mutating func note(_ code: MessageCode) {
    var occurrence = 1
    for index in 0..<16 {
      guard var place = seen[index] else {
        seen[index] = Place(code: code, occurrence: 1)
        break
      }
      if place.code == code {
        place.occurrence += 1
        occurrence = place.occurrence
        seen[index] = place
        break
      }
    }
    last = Place(code: code, occurrence: occurrence)
  }

  /// Whether the sentence has been seen in the current epoch.
  func hasSeen(_ code: MessageCode) -> Bool {
    EndOfEpochDetector.count(of: code, in: seen) > 0
  }

  /// Whether everything has come that came in both of the last two epochs.
  var hasSeenTheUsual: Bool {
    for index in 0..<16 {
      guard let place = usual[index] else { return true }
      if EndOfEpochDetector.count(of: place.code, in: seen) < place.occurrence { return false }
    }
    return true
  }

  /// Whether the sentence last noted is expected to be the epoch's last one.
  var expectsEnd: Bool { evidence >= neededEvidence && last != nil && last == candidate && hasSeenTheUsual }

  /// The epoch has been reported because `expectsEnd` said so.
  mutating func wasTakenAtItsWord() { predicted = last }

  /// A sentence that changed the fix came after the predicted end.
  mutating func wasWrong() {
    evidence = 0
    neededEvidence = min(neededEvidence * 4, EndOfEpochDetector.maximumEvidence)
    predicted = nil
  }

  /// The next epoch has begun: the last sentence noted did end the old one.
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
    seen = InlineArray(repeating: nil)
    last = nil
    predicted = nil
  }

  /// The next epoch has begun, and the old one teaches nothing.
  mutating func forgetEpoch() { seen = InlineArray(repeating: nil) }

  private mutating func keepTheUsual() {
    usual = InlineArray(repeating: nil)
    var count = 0
    for index in 0..<16 {
      guard var place = seen[index] else { return }
      place.occurrence = min(
        place.occurrence, EndOfEpochDetector.count(of: place.code, in: seenBefore))
      guard place.occurrence > 0 else { continue }
      usual[count] = place
      count += 1
    }
  }

  private static func count(of code: MessageCode, in places: borrowing InlineArray<16, Place?>) -> Int {
    for index in 0..<16 {
      guard let place = places[index] else { return 0 }
      if place.code == code { return place.occurrence }
    }
    return 0
  }
}
