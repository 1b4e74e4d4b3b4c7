import NMEA
import TestSupport
import Testing

/// Unicore's answers to commands, whose checksum includes the dollar sign, and its log of the version.
struct UnicoreAnswerTests {
  /// Returns the sentences that the framer finds, with the bytes read in two pieces.
  private func sentences(_ text: String, cut: Int = 0) -> (found: [String], badChecksums: Int) {
    let bytes = Array(text.utf8)
    var framer = ReceiverFramer()
    var found: [String] = []
    for piece in [Array(bytes[..<cut]), Array(bytes[cut...])] {
      piece.withUnsafeBufferPointer { piece in
        framer.push(piece) { frame in
          if case .sentence(let raw) = frame { found.append(String(decoding: raw.bytes, as: UTF8.self)) }
        }
      }
    }
    return (found, framer.sentences.badChecksum)
  }

  /// The lines are from logs and programs that were published, with their own checksums.
  @Test(
    arguments: [
      "$command,unlog,response: OK*21", "$command,VERSIONA,response: OK*45", "$command,GNRMC 1,response: OK*1A",
      "$command,rtcm1230,com1,10,response: PARSING FAILD NO MATCHING FUNC  RTCM1230*11",
      "$CONFIG,COM1,CONFIG COM1 115200*23", "$CONFIG,RTK,CONFIG RTK RELIABILITY 3 1*76", "$devicename,COM1*67",
    ])
  func `an answer is found, however reads cut it`(_ line: String) {
    for cut in 0...line.utf8.count {
      let (found, bad) = sentences(line + "\r\n", cut: cut)
      #expect(found == [line] && bad == 0, "\(cut)")
    }
    var framer = SentenceFramer()
    Array((line + "\r\n").utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in #expect(raw.isUnicoreAnswer) }
    }
  }

  @Test(arguments: [
    "$command,unlog,response: OK*22", "$GPRMC,,V,,,,,,,,,,N*77", "$commands,unlog,response: OK*52", "$CONFIGS,A*10",
  ])
  func `a damaged answer, and any other sentence with such a checksum, is refused`(_ line: String) {
    let (found, bad) = sentences(line + "\r\n")
    #expect(found.isEmpty && bad == 1)
  }

  @Test(
    arguments: [
      (
        "#VERSIONA,79,GPS,FINE,2326,378237000,15434,0,18,889;\"UM982\",\"R4.10Build15434\",\"HRPT00-S10C-P\",\"2310415000012-LR23A2225208904\",\"ff2740966a10124c\",\"2024/08/08\"*769fd54f",
        "UM982", "R4.10Build15434", "ff2740966a10124c"
      ),
      (
        "#VERSIONA,97,GPS,FINE,2343,48235000,0,0,18,813;\"UM980\",\"R4.10Build11833\",\"HRPT00-S10C-P\",\"2310415000001-MD22A2225022497\",\"ff3ba396dcb0478d\",\"2023/11/24\"*270a13f7",
        "UM980", "R4.10Build11833", "ff3ba396dcb0478d"
      ),
    ])
  func `the log of the version states the model, the firmware and the chip`(
    _ line: String, _ model: String, _ firmware: String, _ chipID: String
  ) throws {
    var found: [UnicoreVersion] = []
    var framer = SentenceFramer()
    Array((line + "\r\n").utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in
        if let version = UnicoreVersion(raw) { found.append(version) }
        // It is no sentence of an epoch.
        #expect(Sentence(raw) == nil)
      }
    }
    #expect(found == [UnicoreVersion(model: model, firmware: firmware, chipID: chipID)])
  }
}
