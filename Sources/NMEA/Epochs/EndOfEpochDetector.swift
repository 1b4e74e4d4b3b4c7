/// Learns which sentence ends a receiver's epochs, so that an epoch can be reported the moment its last sentence is
/// in, instead of when the next epoch begins.
///
/// Receivers send the same sentences in the same order in (nearly) every epoch. A sentence that was the last one of
/// several epochs in a row is taken to end the next one too. When something that matters arrives after such a
/// prediction, the detector wants more evidence before it predicts again.
struct EndOfEpochDetector: Sendable {
  /// One sentence's place in an epoch.
  struct Place: Equatable, Sendable {
    var talker: Talker
    var kind: Sentence.Kind
    /// How often this talker had sent this kind in the epoch, this time included.
    var occurrence: Int
  }

  private static let initialEvidence = 2
  private static let maximumEvidence = 64

  private var candidate: Place?
  private var evidence = 0
  private var neededEvidence = initialEvidence
  /// The sentences of the current epoch. Sixteen different ones are more than receivers send; further ones are
  /// counted together, which only makes the prediction more careful.
  private var seen = InlineArray<16, Place?>(repeating: nil)
  private(set) var last: Place?

  /// Notes a sentence of the current epoch.
  mutating func note(_ talker: Talker, _ kind: Sentence.Kind) {
    var occurrence = 1
    for index in 0..<16 {
      guard var place = seen[index] else {
        seen[index] = Place(talker: talker, kind: kind, occurrence: 1)
        break
      }
      if place.talker == talker && place.kind == kind {
        place.occurrence += 1
        occurrence = place.occurrence
        seen[index] = place
        break
      }
    }
    last = Place(talker: talker, kind: kind, occurrence: occurrence)
  }

  /// Whether the sentence has been seen in the current epoch.
  func hasSeen(_ talker: Talker, _ kind: Sentence.Kind) -> Bool {
    for index in 0..<16 {
      guard let place = seen[index] else { return false }
      if place.talker == talker && place.kind == kind { return true }
    }
    return false
  }

  /// Whether the sentence last noted is expected to be the epoch's last one.
  var expectsEnd: Bool { evidence >= neededEvidence && last != nil && last == candidate }

  /// A sentence that changed the fix came after the predicted end.
  mutating func wasWrong() {
    evidence = 0
    neededEvidence = min(neededEvidence * 4, EndOfEpochDetector.maximumEvidence)
  }

  /// The next epoch has begun: what was noted last did end the old one.
  mutating func beginEpoch() {
    if let last {
      if last == candidate {
        evidence = min(evidence + 1, EndOfEpochDetector.maximumEvidence)
      } else {
        candidate = last
        evidence = 1
      }
    }
    seen = InlineArray(repeating: nil)
    last = nil
  }
}
