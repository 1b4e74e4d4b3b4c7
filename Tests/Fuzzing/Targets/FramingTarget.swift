import NMEA

@testable import Outputs

/// A receiver's line, and its epochs.
///
/// The byte 0xFF ends a read, and the byte after it states the length of a silence. All other bytes are received.
enum FramingTarget {
  private static let clean = "$GPRMC,,V,,,,,,,,,,N*53"

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    var whole: [UInt8] = []
    var line = Line()
    var rest = input[...]
    while !rest.isEmpty {
      let read = Array(rest.prefix { $0 != 0xff })
      rest = rest.dropFirst(read.count + 1)
      whole += read
      line.take(read)
      if let pause = rest.popFirst() { line.rest(Int64(pause) * Int64(pause) * 100_000) }
    }
    let sentences = line.sentences
    requireTheSame(line, whole)

    // After any bytes, a sentence on a line of its own is found.
    line.take(Array("\r\n\(clean)\r\n".utf8))
    require(line.sentences.count > sentences.count, "a clean sentence is lost")
    require(line.sentences.last.map { $0.elementsEqual(clean.utf8) } == true, "a clean sentence is not the last")
    line.finish()
  }

  /// It makes no difference how reads cut a line.
  private static func requireTheSame(_ line: borrowing Line, _ whole: [UInt8]) {
    var framer = SentenceFramer()
    var index = 0
    whole.withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in
        require(index < line.sentences.count, "cut, the line has fewer sentences")
        require(line.sentences[index].elementsEqual(raw.bytes), "cut, the line has other sentences")
        index += 1
      }
    }
    require(index == line.sentences.count, "cut, the line has more sentences")
    require(framer.counters == line.counters, "cut, the line has other counters: \(framer.counters)")

    var decoder = GPSDDecoder()
    whole.withUnsafeBufferPointer { decoder.decode($0) }
    decoder.finish()
    decoder.takeOutput(requireJSONLines)
  }
}

/// A live receiver as its reader sees it.
private struct Line: ~Copyable {
  private(set) var sentences: [[UInt8]] = []
  private var framer = SentenceFramer()
  private var assembler = EpochAssembler(promptness: .learned)
  private var now: Int64 = 1
  private var lastBeganAt: Int64 = 0

  var counters: SentenceFramer.Counters { framer.counters }

  mutating func take(_ read: [UInt8]) {
    read.withUnsafeBufferPointer { bytes in
      framer.push(bytes, readAt: now) { raw in
        sentences.append(Array(raw.bytes))
        assembler.consume(raw) { Line.note($0, now, &lastBeganAt) }
      }
    }
    require(framer.counters.sentences == sentences.count, "a sentence is counted that was not handed on")
  }

  /// Lets this number of nanoseconds pass without bytes.
  mutating func rest(_ pause: Int64) {
    if let quiet = assembler.silenceThatEnds, pause >= quiet { finish() }
    now += pause
  }

  mutating func finish() { assembler.finish { Line.note($0, now, &lastBeganAt) } }

  private static func note(_ epoch: borrowing GNSSEpoch, _ now: Int64, _ lastBeganAt: inout Int64) {
    require(epoch.beganAt >= lastBeganAt, "an epoch is older than the one before")
    require(epoch.beganAt <= now, "an epoch is from the future")
    lastBeganAt = epoch.beganAt
  }
}
