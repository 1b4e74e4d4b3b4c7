import Devices
import MonotonicTime
import Testing

@testable import Hub

struct MotionDetectorTests {
  /// Returns the reported states of a level board during these seconds, with ten samples a second.
  ///
  /// - Parameter push: the sideways acceleration in m/s²
  private static func told(_ motion: inout MotionDetector, _ seconds: Range<Int>, push: Float = 0) -> [MotionState] {
    var told: [MotionState] = []
    for tenth in 10 * seconds.lowerBound..<10 * seconds.upperBound {
      let instant = MonotonicInstant(nanoseconds: Int64(tenth) * 100_000_000)
      var batch = IMUBatch()
      batch.append(IMUSample(at: instant, gyroscope: .zero, accelerometer: SIMD3(push, 0, 9.81)))
      if let change = motion.take(batch) { told.append(change) }
    }
    return told
  }

  private static func instant(_ seconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
  }

  @Test func `three seconds of stillness are reported once, and the first motion after them is reported once`() {
    var motion = MotionDetector()
    #expect(Self.told(&motion, 1..<10) == [.still(since: Self.instant(1))])
    #expect(Self.told(&motion, 10..<11, push: 1) == [.moved(at: Self.instant(10))])
  }

  @Test(arguments: [Float(0), 1])
  func `a time without samples does not count as stillness`(_ push: Float) {
    var motion = MotionDetector()
    #expect(Self.told(&motion, 1..<10) == [.still(since: Self.instant(1))])
    // The board may have been moved in the meantime and stand again.
    #expect(Self.told(&motion, 30..<40, push: push) == [.unknown, .still(since: Self.instant(30))])
  }
}
