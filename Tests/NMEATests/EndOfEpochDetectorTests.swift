import Testing

@testable import NMEA

struct EndOfEpochDetectorTests {
  /// A u-blox receiver with all of its sentences on, and with six constellations.
  private static let allSentences: [MessageCode] = {
    let kinds: [Sentence.Kind] = [.rmc, .vtg, .gga, .gsa, .gll, .gst, .zda, .gbs, .gns, .grs, .dtm]
    let constellations: [Talker] = [.gps, .glonass, .galileo, .beidou, .qzss, .navic]
    return kinds.map { MessageCode(.combined, $0) } + constellations.map { MessageCode($0, .gsv) }
  }()

  @Test func `an epoch with many kinds of sentences ends with the last of them, even if it is repeated`() throws {
    let last = try #require(EndOfEpochDetectorTests.allSentences.last)
    // The last constellation has a list for each of its two signals.
    let epoch = EndOfEpochDetectorTests.allSentences + [last]
    var detector = EndOfEpochDetector()
    var ends: [Int] = []
    for _ in 0..<4 {
      detector.beginEpoch()
      for (index, code) in epoch.enumerated() {
        detector.note(code)
        if detector.expectsEnd { ends.append(index) }
      }
    }
    // The end is learned after two epochs.
    #expect(ends == [epoch.count - 1, epoch.count - 1])
  }
}
