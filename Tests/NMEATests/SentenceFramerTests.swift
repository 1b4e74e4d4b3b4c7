import TestSupport
import Testing

@testable import NMEA

struct SentenceFramerTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var stream: String
    var sentences: [String]
    var badChecksum = 0
    var truncated = 0
    var overlong = 0
  }

  static let rmc = "$GPRMC,,V,,,,,,,,,,N*53"
  static let gll = "$GPGLL,,,,,,V,N*64"

  static let cases = [
    Case(testDescription: "plain lines", stream: "\(rmc)\r\n\(gll)\r\n", sentences: [rmc, gll]),
    Case(testDescription: "line feeds only", stream: "\(rmc)\n\(gll)\n", sentences: [rmc, gll]),
    Case(testDescription: "no line ends at all", stream: rmc + gll, sentences: [rmc, gll]),
    Case(testDescription: "text around them", stream: "hello\n\(rmc) and \(gll)!", sentences: [rmc, gll]),
    Case(
      testDescription: "a wrong checksum", stream: "$GPRMC,,V,,,,,,,,,,N*54\r\n\(gll)", sentences: [gll], badChecksum: 1
    ),
    Case(testDescription: "lower-case digits", stream: "$GPTXT,1*7a\r\n", sentences: [], badChecksum: 1),
    Case(
      testDescription: "torn by the next one", stream: "$GPGGA,1234\(rmc)\r\n", sentences: [rmc], truncated: 1),
    Case(
      testDescription: "torn by a control character", stream: "$GPGGA,12\u{0}34\r\n\(rmc)", sentences: [rmc],
      truncated: 1),
    Case(
      testDescription: "torn before its checksum, from a receiver that sends them",
      stream: "\(rmc)\r\n$GPGGA,1,2,3\r\n", sentences: [rmc], truncated: 1),
    Case(
      testDescription: "a receiver that sends no checksums", stream: "$GPGLL,,,,,,V\r\n$GPRMC,,V\r\n",
      sentences: ["$GPGLL,,,,,,V", "$GPRMC,,V"]),
    Case(
      testDescription: "a checksum of one digit, whichever came before",
      stream: "$GPRMC,,V,,,,,,,,,,N*5\r\n\(gll)\r\n$GPRMC,,V,,,,,,,,,,N*5\r\n$GPRMC,,V,,,,,,,,,,N*\r\n",
      sentences: [gll], truncated: 3),
    Case(
      testDescription: "a checksum of one digit that would be right with a zero before it",
      stream: "$GPTXT,j*9\r\n\(gll)", sentences: [gll], truncated: 1),
    Case(testDescription: "a star inside a text", stream: "$GPTXT,a*b*4A\r\n", sentences: ["$GPTXT,a*b*4A"]),
    Case(
      testDescription: "the diagnostic sentence that never has a checksum", stream: "\(rmc)\r\n$STI,IC,error=1\r\n",
      sentences: [rmc, "$STI,IC,error=1"]),
    Case(
      testDescription: "a line of 4096 bytes", stream: "$" + String(repeating: "a", count: 4092) + "*00\r\n\(rmc)",
      sentences: ["$" + String(repeating: "a", count: 4092) + "*00", rmc]),
    Case(
      testDescription: "a longer line", stream: "$" + String(repeating: "a", count: 5000) + "\r\n\(rmc)",
      sentences: [rmc], overlong: 1),
    Case(testDescription: "dollar signs only", stream: "$$$$\(rmc)", sentences: [rmc], truncated: 4),
  ]

  @Test(arguments: cases, [1, 2, 7, 1 << 20])
  func `the framer finds all sentences wherever reads cut them`(_ example: Case, chunk: Int) {
    let bytes = Array(example.stream.utf8)
    var framer = SentenceFramer()
    var found: [String] = []
    for start in stride(from: 0, to: bytes.count, by: chunk) {
      let piece = Array(bytes[start..<min(start + chunk, bytes.count)])
      piece.withUnsafeBufferPointer { buffer in
        framer.push(buffer) { found.append(String(decoding: $0.bytes, as: UTF8.self)) }
      }
    }
    #expect(found == example.sentences)
    #expect(framer.counters.sentences == example.sentences.count)
    #expect(framer.counters.badChecksum == example.badChecksum)
    #expect(framer.counters.truncated == example.truncated)
    #expect(framer.counters.overlong == example.overlong)
  }

  @Test func `binary noise between sentences loses no sentence`() {
    var random = SeededRandom()
    var stream: [UInt8] = []
    for _ in 0..<200 {
      // The noise has any bytes except the two characters that open a sentence.
      stream += (0..<50).map { _ in UInt8.random(in: 0...255, using: &random) }.filter { $0 != 0x24 && $0 != 0x21 }
      stream += Array(SentenceFramerTests.rmc.utf8)
    }
    var framer = SentenceFramer()
    var count = 0
    stream.withUnsafeBufferPointer { framer.push($0) { _ in count += 1 } }
    #expect(count == 200)
  }

  @Test func `no bytes make the parser crash`() {
    var random = SeededRandom()
    let alphabet = Array("$!*,\r\nGPRMCGSVAL0123456789.-NSEW".utf8)
    var framer = SentenceFramer()
    var assembler = EpochAssembler()
    for _ in 0..<2000 {
      let chunk = (0..<100).map { _ in
        Int.random(in: 0..<20, using: &random) == 0
          ? UInt8.random(in: 0...255, using: &random) : alphabet.randomElement(using: &random)!
      }
      chunk.withUnsafeBufferPointer { framer.push($0) { raw in assembler.consume(raw) { _ in } } }
    }
    // Well-formed sentences with random fields go deeper than noise does.
    for formatter in [
      "GGA", "RMC", "GSA", "GSV", "GLL", "GNS", "VTG", "ZDA", "GST", "GBS", "GRS", "XDR", "TXT", "DTM", "HDG",
    ] {
      for _ in 0..<500 {
        let fields = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
          ["", "1", "-3.5", "99999999999999999999", "W", "4807.038", "123519.99", "240229", "A", "*", "1e9"]
            .randomElement(using: &random)!
        }
        Array("$GN\(formatter),\(fields.joined(separator: ","))\r\n".utf8).withUnsafeBufferPointer { buffer in
          var framer = SentenceFramer()
          framer.push(buffer) { raw in assembler.consume(raw) { _ in } }
        }
      }
    }
    assembler.finish { _ in }
  }
}

struct EightBytesTests {
  @Test func `examining eight characters at once gives the same result as examining each`() {
    var random = SeededRandom()
    let alphabet = Array("*$!,\r\n\u{1F} -.09AZ~\u{7F}".utf8) + [0x00, 0x80, 0xA4, 0xAA, 0xFF]
    for _ in 0..<2000 {
      var eight = EightBytes()
      var taken: [UInt8] = []
      for _ in 0..<Int.random(in: 1...255, using: &random) {
        let bytes = (0..<8).map { _ in alphabet.randomElement(using: &random)! }
        let count = eight.take(bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        #expect(count == bytes.firstIndex { $0 <= 0x2A } ?? 8)
        taken += bytes[..<count]
      }
      #expect(eight.commaCount == taken.count { $0 == 0x2C })
      #expect((eight.highBits != 0) == taken.contains { $0 >= 0x80 })
      #expect(eight.checksum == taken.reduce(0) { $0 ^ $1 })
    }
  }

  @Test func `commas are counted at every place up to the last word`() {
    var eight = EightBytes()
    for _ in 0..<255 { _ = eight.take(0x2C2C_2C2C_2C2C_2C2C) }
    #expect(eight.commaCount == 255 * 8)
  }
}
