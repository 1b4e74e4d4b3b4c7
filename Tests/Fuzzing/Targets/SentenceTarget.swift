@testable import NMEA
@testable import Outputs

/// Sentences with correct checksums. Each line of the input is the text between dollar sign and star.
enum SentenceTarget {
  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    // This assembler parses every sentence completely.
    var typed = EpochAssembler(promptness: .certain)
    var epochs: [GNSSFix] = []
    var index = 0
    var json = JSONWriter(capacity: 1024)
    for body in input.split(separator: UInt8(ascii: "\n")) {
      sentence(body).withUnsafeBufferPointer { bytes in
        framer.push(bytes) { raw in
          let outcome = assembler.consume(raw) { epoch in
            epochs.append(epoch.fix)
            GPSDReport.write(epoch, to: &json)
          }
          if case .changedAttitude = outcome { GPSDReport.write(assembler.attitude, to: &json) }
          typed.consume(Sentence(raw)) {
            require(index < epochs.count, "an epoch that only the typed sentence ends")
            require($0.fix == epochs[index], "the typed sentence says something else: \($0.fix), \(epochs[index])")
            index += 1
          }
          require(index == epochs.count, "an epoch that the typed sentence does not end")
        }
      }
    }
    assembler.finish { GPSDReport.write($0, to: &json) }
    requireJSONLines(json.bytes)
  }

  private static func sentence(_ body: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
    let checksum = body.reduce(0) { $0 ^ $1 }
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "$")] + body + [UInt8(ascii: "*"), digits[Int(checksum >> 4)], digits[Int(checksum & 15)], 10]
  }
}
