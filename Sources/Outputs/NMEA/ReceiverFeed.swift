import Devices
import Hub
import NMEA
import UBX

/// Selects the data for a client that reads a receiver's own output. Sentences are passed on as received, or made from
/// the epochs of a receiver that reports in binary messages. Binary messages are passed on in hexadecimal digits or as
/// received.
///
/// A receiver may send both. As long as its own sentences contain positions, no sentences are made.
struct ReceiverFeed {
  /// After this number of epochs without a position in the receiver's own sentences, sentences are made from its
  /// epochs.
  private static let patience = 3

  private var hasMessages = false
  private var epochsWithoutSentence = patience - 1

  /// Returns the bytes to send for one output of the receiver; empty if there are none.
  ///
  /// - Parameters:
  ///   - sentences: whether to include sentences
  ///   - raw: 0 for no binary messages; 1 for sentences, and messages in hexadecimal digits, one per line; 2 for all
  ///     bytes as received
  mutating func bytes(of output: ReceiverOutput, sentences: Bool = true, raw: Int = 0) -> [UInt8] {
    switch output {
    case .bytes(let received):
      guard received.isBinary else {
        if ReceiverFeed.statePosition(received.bytes) { epochsWithoutSentence = 0 }
        return sentences || raw > 0 ? received.bytes : []
      }
      hasMessages = true
      return raw > 1 ? received.bytes : raw == 1 ? ReceiverFeed.digits(received.bytes) : []
    case .epoch(let epoch):
      epochsWithoutSentence = min(epochsWithoutSentence + 1, ReceiverFeed.patience)
      guard sentences, hasMessages, epochsWithoutSentence == ReceiverFeed.patience else { return [] }
      return Array(EpochSentences.make(of: epoch).utf8)
    }
  }

  /// Whether the sentences include one with a position. Every receiver sends at least one of these in each epoch.
  private static func statePosition(_ sentences: [UInt8]) -> Bool {
    sentences.split(separator: UInt8(ascii: "\n")).contains { line in
      guard line.count > 6, line.first == UInt8(ascii: "$") else { return false }
      let name = line.dropFirst(3).prefix(3)
      return ["GGA", "RMC", "GNS", "GLL"].contains { name.elementsEqual($0.utf8) }
    }
  }

  /// Writes each message as a line of hexadecimal digits, as gpsd does.
  private static func digits(_ messages: [UInt8]) -> [UInt8] {
    let hexadecimal = Array("0123456789abcdef".utf8)
    var lines: [UInt8] = []
    var framer = ReceiverFramer()
    messages.withUnsafeBufferPointer { bytes in
      framer.push(bytes) { frame in
        guard case .message(let message) = frame else { return }
        for byte in message.bytes {
          lines.append(hexadecimal[Int(byte >> 4)])
          lines.append(hexadecimal[Int(byte & 0xF)])
        }
        lines += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
      }
    }
    return lines
  }
}
