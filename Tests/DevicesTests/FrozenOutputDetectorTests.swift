import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Devices

/// A receiver that has hung is not trusted, and a receiver that stands still is.
struct FrozenOutputDetectorTests {
  private static func sentences(_ second: Int, longitude: String, knots: String) -> String {
    [
      "GPRMC,1200\(two(second)).00,A,5231.0000,N,\(longitude),E,\(knots),90.0,231126,,,A",
      "GPGGA,1200\(two(second)).00,5231.0000,N,\(longitude),E,1,09,0.9,40.0,M,42.0,M,,",
    ].map(line).joined()
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func line(_ body: String) -> String {
    let sum = body.utf8.reduce(0, ^)
    let digits = String(sum, radix: 16, uppercase: true)
    return "$\(body)*\(sum < 16 ? "0" : "")\(digits)\r\n"
  }

  /// Reads a second apart.
  private func observations(_ reads: [String]) -> (found: [GNSSObservation], fault: FrozenOutputDetector.Fault?) {
    var decoder = ReceiverDecoder()
    var found: [GNSSObservation] = []
    for (second, read) in reads.enumerated() {
      Array(read.utf8).withUnsafeBufferPointer { bytes in
        decoder.take(bytes, readAt: MonotonicInstant(nanoseconds: Int64(second) * 1_000_000_000)) {
          found.append(copy $0)
        }
      }
    }
    return (found, decoder.fault)
  }

  @Test func `a position repeated at 20 knots is not trusted`() {
    let (found, fault) = observations(
      (0..<30).map { FrozenOutputDetectorTests.sentences($0, longitude: "01322.0000", knots: "20.0") })
    #expect(fault == .position)
    #expect(found.first?.fix.mode == .threeDimensional && found.first?.isFrozen == false)
    let last = found.last
    #expect(last?.isFrozen == true && last?.fix.position == nil && last?.fix.mode == .noFix)
  }

  @Test func `a receiver that holds its position at rest is trusted`() {
    let (found, fault) = observations(
      (0..<50).map { FrozenOutputDetectorTests.sentences($0, longitude: "01322.0000", knots: "0.0") })
    #expect(fault == nil && found.allSatisfy { !$0.isFrozen && $0.fix.position != nil })
  }

  @Test func `a receiver that leaves its old position is trusted again`() {
    let stuck = (0..<20).map { FrozenOutputDetectorTests.sentences($0, longitude: "01322.0000", knots: "20.0") }
    let moving = (20..<30).map { FrozenOutputDetectorTests.sentences($0, longitude: "01322.\($0)00", knots: "20.0") }
    let (found, fault) = observations(stuck + moving)
    #expect(fault == nil && found.contains(where: \.isFrozen))
    #expect(found.last?.isFrozen == false && found.last?.fix.position != nil)
  }

  @Test func `a repeated time is a fault while the receiver continues to send`() {
    let going = (0..<5).map { FrozenOutputDetectorTests.sentences($0, longitude: "01322.0000", knots: "0.0") }
    let standing = (0..<60).map { _ in FrozenOutputDetectorTests.sentences(5, longitude: "01322.0000", knots: "0.0") }
    #expect(observations(going + standing).fault == .time)
    #expect(observations(going).fault == nil)
  }
}
