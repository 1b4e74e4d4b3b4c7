import Devices
import MonotonicTime
import Testing

struct ReceiverDecoderTests {
  /// A replay passes on bytes with the time of their fusion, which may be later than their read.
  @Test func `an epoch has the time at which its first byte was read, even the first epoch or one without a time`() {
    var decoder = ReceiverDecoder()
    var stamps: [Int64] = []
    for (checksum, second) in zip(["79", "7A", "7B", "7C"], 1...) {
      let text = "$GNRMC,,V,,,,,,,,,,N,V*37\r\n$GNGGA,00000\(second).00,,,,,0,00,99.99,,,,,,*\(checksum)\r\n"
      let beganAt = MonotonicInstant(nanoseconds: Int64(second) * 1_000_000_000)
      Array(text.utf8).withUnsafeBufferPointer { bytes in
        decoder.take(bytes, beganAt: beganAt, readAt: beganAt + .milliseconds(4)) { stamps.append($0.at.nanoseconds) }
      }
    }
    #expect(decoder.counters.badChecksum == 0)
    #expect(stamps.first == 1_000_000_000)
    // No two observations have the same instant. If both sentences are an epoch each, they differ by a nanosecond.
    #expect(Set(stamps).count == stamps.count)
    #expect(stamps.allSatisfy { $0 % 1_000_000_000 <= 1 }, "\(stamps)")
  }
}
