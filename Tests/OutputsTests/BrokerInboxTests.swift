import Testing

@testable import Outputs

/// The messages of a command's broker until they are read.
struct BrokerInboxTests {
  private func message(_ number: Int, byteCount: Int = 1000) -> MQTTConnection.Event {
    .received(
      topic: "\(number)", payload: [UInt8](repeating: 0, count: byteCount), isRetained: false, expirySeconds: nil)
  }

  /// Removes all messages and returns their topics or kinds.
  private func all(_ inbox: inout BrokerInbox) -> (events: [String], lostCount: Int) {
    var (events, lostCount) = ([String](), 0)
    while true {
      let next = inbox.next()
      lostCount += next.lostCount
      switch next.event {
      case .received(let topic, _, _, _): events.append(topic)
      case .connected: events.append("connected")
      case .ended: events.append("ended")
      case .some: events.append("other")
      case nil: return (events, lostCount)
      }
    }
  }

  @Test func `events come in their order, and none is lost below the limit`() {
    var inbox = BrokerInbox(byteLimit: 10_000)
    inbox.add(.connected)
    for number in 1...7 { inbox.add(message(number)) }
    #expect(!inbox.hasEnded)
    inbox.add(.ended)
    #expect(inbox.hasEnded)
    #expect(all(&inbox) == (["connected", "1", "2", "3", "4", "5", "6", "7", "ended"], 0))
  }

  @Test func `in a flood, only the oldest messages are lost, and they are counted`() {
    var inbox = BrokerInbox(byteLimit: 10_000)
    inbox.add(.connected)
    for number in 1...100 { inbox.add(message(number)) }
    inbox.add(.ended)
    let (events, lostCount) = all(&inbox)
    #expect(events == ["connected"] + (94...100).map { "\($0)" } + ["ended"])
    #expect(lostCount == 93)
    // There is room for other messages again.
    inbox.add(message(101))
    #expect(all(&inbox) == (["101"], 0))
  }

  @Test func `other events are limited too, and a message longer than the limit is kept alone`() {
    var inbox = BrokerInbox(byteLimit: 10_000)
    for _ in 1...1000 { inbox.add(.refused(reason: "no")) }
    #expect(all(&inbox).events.count == 39)
    inbox.add(message(1))
    inbox.add(message(2, byteCount: 20_000))
    #expect(all(&inbox) == (["2"], 1))
  }
}
