import NIOCore
import Testing

@testable import Outputs

/// The waiting events of a client that reads slowly.
struct EventQueueTests {
  private func texts(of queue: EventQueue) -> [String] {
    var texts: [String] = []
    while let event = queue.next() { texts.append(String(buffer: event)) }
    return texts
  }

  @Test func `a full event queue drops the oldest values, but no news`() async {
    let traffic = OutputTraffic().events
    let queue = EventQueue(valueLimit: 8, traffic: traffic)
    queue.send(news: ByteBuffer(string: "left"))
    for number in 0..<100 { queue.send(ByteBuffer(string: "\(number)")) }
    queue.send(news: ByteBuffer(string: "entered"))
    #expect(texts(of: queue) == ["left", "entered"] + (92..<100).map(String.init))
    #expect(traffic.droppedValues == 92)
    queue.finish()
    var signals = 0
    for await _ in queue.signals { signals += 1 }
    #expect(signals == 1 && texts(of: queue).isEmpty)
  }

  @Test func `the queue of a client that never reads is limited`() {
    let queue = EventQueue(valueLimit: 8, traffic: OutputTraffic().events)
    for number in 0..<1000 { queue.send(news: ByteBuffer(string: "\(number)")) }
    #expect(texts(of: queue) == (744..<1000).map(String.init))
  }
}
