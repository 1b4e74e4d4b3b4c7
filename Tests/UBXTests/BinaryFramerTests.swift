import TestSupport
import Testing
import UBX

/// Messages are found among any other bytes, and however reads divide them.
struct BinaryFramerTests {
  /// The pieces of a stream: messages as received, and everything else.
  private struct Found: Equatable {
    var messages: [[UInt8]] = []
    var kinds: [UInt16] = []
    var other: [UInt8] = []
    var beganAt: [Int64] = []
  }

  private func frame(_ reads: [[UInt8]]) -> (found: Found, counters: BinaryFramer.Counters) {
    var framer = BinaryFramer()
    var found = Found()
    for (index, read) in reads.enumerated() {
      read.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(index)) { piece in
          switch piece {
          case .message(let message):
            found.messages.append(Array(message.bytes))
            found.kinds.append(message.kind)
            found.beganAt.append(message.beganAt)
          case .other(let bytes, _, _): found.other += bytes
          }
        }
      }
    }
    return (found, framer.counters)
  }

  private let sentence = Array("$GPGLL,5231.0,N,01322.0,E,120000,A*2E\r\n".utf8)
  private let messages = [
    MadeMessage.ubx(0x0161, [1, 2, 3, 4]), MadeMessage.casic(0x0110, [UInt8](0..<24)),
    MadeMessage.rtcm3([0x43, 0x50] + [UInt8](repeating: 0xB5, count: 30)),
    MadeMessage.navPVT(timeOfWeekMilliseconds: 1000, latitudeDegrees: 52, longitudeDegrees: 13, second: 1),
  ]

  @Test func `messages of all protocols are found in one stream, wherever a read ends`() {
    let stream = messages.reduce(sentence) { $0 + $1 + sentence }
    let whole = frame([stream]).found
    #expect(whole.messages == messages)
    #expect(whole.kinds == [0x0161, 0x0110, 1077, 0x0107])
    #expect(whole.other == [UInt8](repeating: 0, count: 5).flatMap { _ in sentence })
    for cut in stream.indices {
      let found = frame([Array(stream[..<cut]), Array(stream[cut...])]).found
      #expect(found.messages == messages && found.other == whole.other, "cut at \(cut)")
    }
    #expect(frame(stream.map { [$0] }).found.messages == messages)
  }

  @Test func `a message that reads divide has the time of its first byte`() {
    let message = messages[0]
    let found = frame([sentence + message[..<3], Array(message[3...]) + message]).found
    #expect(found.beganAt == [0, 1])
  }

  @Test func `a wrong checksum loses only its own message`() {
    for message in messages {
      for index in message.indices {
        var broken = message
        broken[index] ^= 0x10
        // The stream continues for as many bytes as a broken length may claim.
        let reads = [sentence, broken, message, [UInt8](repeating: 0x20, count: 9000)]
        #expect(frame(reads).found.messages.last == message, "byte \(index)")
      }
    }
    var broken = messages[0]
    broken[7] ^= 1
    let (found, counters) = frame([broken + messages[0]])
    #expect(found.messages == [messages[0]] && found.other == broken)
    #expect(counters.messages == 1 && counters.badChecksum == 1)
  }

  @Test func `bytes that look like the beginning of a message delay nothing`() {
    for noise: [UInt8] in [
      [0xB5], [0xB5, 0x62, 0x07, 0, 0, 0], [0xB5, 0x62, 1, 7, 0xFF, 0xFF], [0xBA, 0xCE, 3, 0, 1, 1], [0xD3, 4],
      [0xD3, 0, 20, 0, 0],
    ] {
      #expect(frame([noise + sentence]).found.other == noise + sentence, "\(noise)")
    }
  }

  @Test func `noise that looks like many long messages is read at a bounded cost`() {
    // Each false message claims the greatest length, so none could be complete before eight more kilobytes have
    // arrived.
    let noise = (0..<20_000).flatMap { _ in [0xB5, 0x62, 0x02, 0x15, 0xF0, 0x1F] as [UInt8] }
    let found = frame(noise.chunks(of: 64) + [messages[0], [UInt8](repeating: 0, count: 9000)]).found
    #expect(found.messages == [messages[0]])
    #expect(found.other.count == noise.count + 9000)
  }
}

extension [UInt8] {
  fileprivate func chunks(of count: Int) -> [[UInt8]] {
    stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
  }
}
