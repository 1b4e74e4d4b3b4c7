import NMEA

/// Turns a receiver's bytes into objects of the gpsd protocol, a line each.
public struct GPSDDecoder: ~Copyable {
  private var framer = SentenceFramer()
  private var assembler = EpochAssembler(promptness: .certain)
  private var output = JSONWriter(capacity: 1 << 16)
  private var unknownCount = 0

  public init() {}

  /// Takes the next bytes, cut anywhere.
  public mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>) {
    framer.push(bytes) { raw in
      let sentence = Sentence(raw)
      if sentence == nil { unknownCount += 1 }
      assembler.consume(sentence) { event in
        switch event {
        case .epoch(let epoch): GPSDReport.write(epoch, to: &output)
        case .attitude(let attitude): GPSDReport.write(attitude, to: &output)
        }
      }
    }
  }

  /// Reports the last epoch, which no further one ends.
  public mutating func finish() {
    assembler.finish { event in
      if case .epoch(let epoch) = event { GPSDReport.write(epoch, to: &output) }
    }
  }

  /// Hands the lines written so far to `receive` and forgets them.
  public mutating func takeOutput<Failure: Error>(
    _ receive: (borrowing [UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    try receive(output.bytes)
    output.removeAll()
  }

  /// What was read: `sentences=… bad_checksum=… unknown=… epochs=…`.
  public var summary: String {
    let counters = framer.counters
    return "sentences=\(counters.sentences) bad_checksum=\(counters.badChecksum) unknown=\(unknownCount) "
      + "epochs=\(assembler.epochCount)"
  }
}
