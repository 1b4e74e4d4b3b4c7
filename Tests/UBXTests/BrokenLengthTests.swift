import TestSupport
import Testing

@testable import UBX

/// A bit error in a length claims kilobytes that do not exist. The bytes that follow neither wait for the claimed bytes
/// nor are lost.
struct BrokenLengthTests {
  /// The time of a byte at 9600 baud, with eight bits between a start and a stop bit.
  private static let byteNanoseconds: Int64 = 1_041_667

  private struct Arrival: Equatable {
    var bytes: [UInt8]
    var beganAt: Int64
    var handedOnAt: Int64
  }

  /// Feeds a stream at the line's speed, with a second for each epoch.
  private func arrivals(_ epochs: [[UInt8]], reads size: Int) -> [Arrival] {
    var framer = BinaryFramer()
    var found: [Arrival] = []
    for (second, epoch) in epochs.enumerated() {
      for start in stride(from: 0, to: epoch.count, by: size) {
        let end = min(start + size, epoch.count)
        let now = Int64(second) * 1_000_000_000 + Int64(end) * BrokenLengthTests.byteNanoseconds
        epoch[start..<end].withUnsafeBufferPointer { bytes in
          framer.push(bytes, readAt: now) { piece in
            if case .message(let message) = piece {
              found.append(Arrival(bytes: Array(message.bytes), beganAt: message.beganAt, handedOnAt: now))
            }
          }
        }
      }
    }
    return found
  }

  private func messages(second: UInt8) -> [[UInt8]] {
    [
      MadeMessage.navPVT(
        timeOfWeekMilliseconds: 1000 * UInt32(second), latitudeDegrees: 52, longitudeDegrees: 13, second: second),
      MadeMessage.ubx(UBXKind.navSAT, [second, 0, 0, 0, 1, 10, 0, 0] + [UInt8](repeating: 7, count: 120)),
      MadeMessage.ubx(UBXKind.navSIG, [second, 0, 0, 0, 0, 4, 0, 0] + [UInt8](repeating: 9, count: 64)),
      MadeMessage.casic(CASICKind.navPV, [second] + [UInt8](repeating: 3, count: 79)),
      MadeMessage.rtcm3([0x43, 0x50, second] + [UInt8](repeating: 5, count: 80)),
      // The message has an unknown kind.
      MadeMessage.ubx(0x0199, [second] + [UInt8](repeating: 2, count: 49)),
      MadeMessage.ubx(UBXKind.navEOE, [second, 0, 0, 0]),
    ]
  }

  /// Returns the positions of the length in a message.
  private func lengthBytes(of message: [UInt8]) -> [Int] {
    switch message[0] {
    case 0xB5: [4, 5]
    case 0xBA: [2, 3]
    default: [1, 2]
    }
  }

  @Test(arguments: [1, 7, 64])
  func `data after a broken length has its own time and is passed on`(reads: Int) {
    let epochs = (1...4).map { messages(second: UInt8($0)) }
    let clean = arrivals(epochs.map { $0.flatMap(\.self) }, reads: reads)
    #expect(clean.count == 28)
    for broken in epochs[1].indices {
      for byte in lengthBytes(of: epochs[1][broken]) {
        for bit in 0..<8 {
          var damaged = epochs
          damaged[1][broken][byte] ^= 1 << UInt8(bit)
          let found = arrivals(damaged.map { $0.flatMap(\.self) }, reads: reads)
          let lost = 7 + broken
          let expected = clean.enumerated().filter { $0.offset != lost }.map(\.element)
          let name = "message \(broken), byte \(byte), bit \(bit)"
          #expect(found.map(\.bytes) == expected.map(\.bytes), "\(name)")
          guard found.count == expected.count else { continue }
          for (arrival, undisturbed) in zip(found, expected) {
            #expect(arrival.beganAt == undisturbed.beganAt, "\(name)")
            // The piece comes with the first message of the next epoch at the latest.
            let isOfLaterEpoch = undisturbed.beganAt >= 3_000_000_000
            #expect(!isOfLaterEpoch || arrival.handedOnAt == undisturbed.handedOnAt, "\(name)")
            #expect(arrival.handedOnAt <= undisturbed.handedOnAt + 1_300_000_000, "\(name)")
          }
        }
      }
    }
  }

  private func pieces(_ stream: [UInt8], by size: Int) -> [[UInt8]] {
    var framer = BinaryFramer()
    var found: [[UInt8]] = []
    for start in stride(from: 0, to: stream.count, by: size) {
      stream[start..<min(start + size, stream.count)].withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(start)) { piece in
          if case .message(let message) = piece { found.append(Array(message.bytes)) }
        }
      }
    }
    return found
  }

  @Test func `a long message of numbers is complete wherever reads cut it`() {
    var random = SeededRandom(seed: 5)
    for count in [1, 30, 200, 255] {
      let numbers = (0..<(16 + 32 * count)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let long = MadeMessage.ubx(UBXKind.rxmRAWX, numbers)
      let stream = messages(second: 1)[0] + long + messages(second: 2)[0]
      for size in [1, 7, 64, 10_000] {
        #expect(pieces(stream, by: size) == [messages(second: 1)[0], long, messages(second: 2)[0]])
      }
    }
  }

  @Test func `a message inside a message belongs to the outer message`() {
    let inner = messages(second: 1)[6] + Array("$GPGLL,5231.0,N,01322.0,E,120000,A*2E".utf8)
    for outer in [
      MadeMessage.ubx(0x0402, inner), MadeMessage.ubx(0x0199, inner), MadeMessage.rtcm3([0x43, 0x50] + inner),
      // The message contains a file of messages for the receiver.
      MadeMessage.ubx(0x1321, [UInt8](repeating: 0, count: 300) + inner),
    ] {
      for size in [1, 7, 64, 10_000] { #expect(pieces(outer + inner, by: size) == [outer, messages(second: 1)[6]]) }
    }
  }

  @Test func `a message that seems to be inside long numbers counts however reads cut it`() {
    let inner = messages(second: 1)[0]
    let outer = MadeMessage.ubx(UBXKind.rxmRAWX, [UInt8](repeating: 0, count: 16 + 32 * 20 - inner.count) + inner)
    for size in [1, 7, 64, 10_000] { #expect(pieces(outer, by: size) == [inner]) }
  }
}
