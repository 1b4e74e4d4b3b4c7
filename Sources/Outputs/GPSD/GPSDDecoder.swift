import NMEA
import UBX

/// Turns a receiver's bytes into objects of the gpsd protocol, one per line.
public struct GPSDDecoder: ~Copyable {
  private var framer = ReceiverFramer()
  private var assembler = EpochAssembler(promptness: .certain)
  private var output = JSONWriter(capacity: 1 << 16)
  private var unknownCount = 0
  private var attitudeCount = 0

  public init() {}

  /// Decodes the next bytes, which may be cut anywhere.
  public mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>) {
    framer.push(bytes) { frame in
      let outcome =
        switch frame {
        case .sentence(let raw): assembler.consume(raw, receive: { GPSDReport.write($0, to: &output) })
        case .message(let message): assembler.consume(message, receive: { GPSDReport.write($0, to: &output) })
        }
      switch outcome {
      case .unknown: unknownCount += 1
      case .taken: break
      case .changedAttitude:
        attitudeCount += 1
        GPSDReport.write(assembler.attitude, to: &output)
      }
    }
  }

  /// Reports the last epoch, which no later epoch has ended.
  public mutating func finish() {
    assembler.finish { GPSDReport.write($0, to: &output) }
  }

  /// Passes the written lines to `receive` and discards them.
  public mutating func takeOutput<Failure: Error>(
    _ receive: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    try receive(output.bytes)
    output.removeAll()
  }

  /// Whether the decoder has found no epoch and no attitude.
  public var isEmpty: Bool { assembler.epochCount == 0 && attitudeCount == 0 }

  /// The counts: `sentences=… messages=… bad_checksum=… unknown=… epochs=… implausible=…`. The counts of messages and
  /// of implausible values appear only above 0.
  public var summary: String {
    let (sentences, messages) = (framer.sentences, framer.messages)
    return "sentences=\(sentences.sentences) " + (messages.messages > 0 ? "messages=\(messages.messages) " : "")
      + "bad_checksum=\(sentences.badChecksum + messages.badChecksum) unknown=\(unknownCount) "
      + "epochs=\(assembler.epochCount)"
      + (assembler.refused.count > 0 ? " implausible=\(assembler.refused.count)" : "")
  }
}
