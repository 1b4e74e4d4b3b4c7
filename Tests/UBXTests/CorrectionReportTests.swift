import TestSupport
import Testing
import UBX

/// Reports of receivers about the corrections that they have read (RXM-RTCM).
struct CorrectionReportTests {
  private func report(_ bytes: [UInt8]) -> CorrectionReport? {
    var framer = BinaryFramer()
    var found: CorrectionReport?
    bytes.withUnsafeBufferPointer { bytes in
      framer.push(bytes, readAt: 0) { piece in
        if case .message(let message) = piece { found = CorrectionReport(message) }
      }
    }
    return found
  }

  /// Makes a report of version, flags, subtype, station and number.
  private func made(_ flags: UInt8, _ number: UInt16) -> [UInt8] {
    MadeMessage.ubx(0x0232, [2, flags, 0, 0, 42, 0] + MadeMessage.littleEndian(number))
  }

  @Test func `each outcome of a correction report is understood`() {
    let words: [(UInt8, CorrectionReport.Outcome)] = [
      (0b000, .unknown), (0b010, .unused), (0b100, .used), (0b110, .unknown), (0b001, .damaged), (0b101, .damaged),
    ]
    for (flags, outcome) in words {
      let report = report(made(flags, 1077))
      #expect(report?.outcome == outcome && report?.messageNumber == 1077, "\(flags)")
    }
  }

  @Test func `the reports of a NEO-M8P say that it has read a message`() {
    // The bytes are from gpsd's recording of a receiver.
    let bytes: [UInt8] = [0xB5, 0x62, 0x02, 0x32, 8, 0, 2, 0, 0, 0, 0, 0, 0xCE, 0x04, 0x10, 0x3E]
    #expect(report(bytes)?.outcome == .unknown && report(bytes)?.messageNumber == 1230)
  }

  @Test func `no other message is a correction report`() {
    #expect(report(MadeMessage.ubx(0x0232, [2, 4, 0, 0])) == nil)
    #expect(report(MadeMessage.ubx(0x0161, [0, 0, 0, 0])) == nil)
  }
}
