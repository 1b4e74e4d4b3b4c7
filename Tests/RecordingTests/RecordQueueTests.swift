import Testing

@testable import Recording

struct RecordQueueTests {
  private func append(_ text: String, to queue: inout RecordQueue, channel: Int = 0) -> Int {
    Array(text.utf8).withUnsafeBytes {
      queue.append($0, channel: channel, logTimeNanoseconds: UInt64($0.count), publishTimeNanoseconds: 7)
    }
  }

  private func take(_ queue: inout RecordQueue) -> (text: String, record: RecordQueue.Record)? {
    var bytes: [UInt8] = []
    return queue.take(into: &bytes).map { (String(decoding: bytes, as: UTF8.self), $0) }
  }

  @Test func `messages leave the ring buffer as they entered it, wherever its end splits them`() {
    var queue = RecordQueue(capacity: 211)
    queue.addChannel()
    queue.addChannel()
    for index in 0..<1000 {
      let texts = (0..<3).map { String(repeating: "\(index + $0)", count: (index + $0) % 7) }
      for (channel, text) in texts.enumerated() { #expect(append(text, to: &queue, channel: channel % 2) == 0) }
      for text in texts {
        let taken = take(&queue)
        #expect(taken?.text == text)
        #expect(taken?.record.logTimeNanoseconds == UInt64(text.utf8.count))
        #expect(taken?.record.publishTimeNanoseconds == 7)
      }
      let isEmpty = queue.isEmpty
      #expect(isEmpty)
    }
  }

  @Test func `if the ring buffer is full, the oldest messages are dropped and counted, and leave a gap in the numbers`()
  {
    var queue = RecordQueue(capacity: 200)
    queue.addChannel()
    let lost = (0..<100).reduce(0) { $0 + append("message \($1)", to: &queue) }
    var left: [UInt32] = []
    while let (text, record) = take(&queue) {
      #expect(text == "message \(record.sequence)")
      left.append(record.sequence)
    }
    #expect(left.count > 3 && lost + left.count == 100)
    #expect(left == Array(UInt32(lost)..<100))
  }

  @Test func `a message that is too large for the buffer is dropped, and displaces no other`() {
    var queue = RecordQueue(capacity: 100)
    queue.addChannel()
    #expect(append("small", to: &queue) == 0)
    #expect(append(String(repeating: "x", count: 100), to: &queue) == 1)
    #expect(take(&queue)?.text == "small")
    #expect(append("next", to: &queue) == 0)
    #expect(take(&queue)?.record.sequence == 2)
  }
}
