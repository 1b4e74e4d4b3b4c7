import CAllocations
import NMEA
import UBX

/// The library alone: framing and typed sentences, then also epochs. Measures speed and allocations.
struct ParsingBenchmark {
  let recording: Recording
  /// Messages of binary protocols, with sentences between them.
  let messages: [UInt8]

  func run() {
    measure("typed sentences") { bytes in
      var framer = SentenceFramer()
      var count = 0
      var known = 0
      framer.push(bytes) { raw in
        count += 1
        if Sentence(raw) != nil { known += 1 }
      }
      precondition(known > 0)
      return count
    }
    measure("sentences to epochs") { bytes in
      var framer = SentenceFramer()
      var assembler = EpochAssembler(promptness: .learned)
      var count = 0
      framer.push(bytes) { raw in
        count += 1
        assembler.consume(raw) { _ in }
      }
      return count
    }
    guard !messages.isEmpty else { return }
    measure("binary messages", messages) { bytes in
      var framer = BinaryFramer()
      framer.push(bytes, readAt: 0) { _ in }
      return framer.counters.messages
    }
    measure("messages and sentences to epochs", messages) { bytes in
      var framer = ReceiverFramer()
      var assembler = EpochAssembler(promptness: .learned)
      var count = 0
      framer.push(bytes) { frame in
        count += 1
        switch frame {
        case .sentence(let raw): assembler.consume(raw) { _ in }
        case .message(let message): assembler.consume(message) { _ in }
        }
      }
      return count
    }
  }

  private func measure(_ name: String, _ bytes: [UInt8]? = nil, _ body: (UnsafeBufferPointer<UInt8>) -> Int) {
    (bytes ?? recording.bytes).withUnsafeBufferPointer { bytes in
      var rate = 0.0
      var allocations = 0.0
      for _ in 0..<5 {
        let allocated = callocations_count()
        let start = callocations_thread_seconds()
        let count = body(bytes)
        rate = max(rate, Double(count) / (callocations_thread_seconds() - start))
        allocations = Double(callocations_count() - allocated) / Double(count)
      }
      print("\(name): \(fixed(rate / 1e6, 2)) million a second, \(fixed(allocations, 6)) allocations each")
    }
  }
}
