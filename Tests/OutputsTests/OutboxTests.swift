import Testing

@testable import Outputs

/// Messages that wait for an absent broker.
struct OutboxTests {
  private func value(_ number: Int, of topic: String = "state") -> Outbox.Message {
    Outbox.Message(topic: topic, payload: Array("\(number)".utf8))
  }

  private func retained(_ topic: String, _ text: String) -> Outbox.Message {
    Outbox.Message(topic: topic, payload: Array(text.utf8), isRetained: true)
  }

  private func all(_ outbox: inout Outbox) -> [String] {
    var texts: [String] = []
    while let message = outbox.next() {
      texts.append("\(message.topic) \(String(decoding: message.payload, as: UTF8.self))")
    }
    return texts
  }

  @Test func `values are sent in their order, after retained messages`() {
    var outbox = Outbox()
    for number in 1...3 { outbox.add(value(number)) }
    outbox.add(retained("status", "online"))
    #expect(all(&outbox) == ["status online", "state 1", "state 2", "state 3"])
    #expect(outbox.isEmpty && outbox.lostCount == 0)
  }

  @Test func `the oldest values are lost first, and counted`() {
    let size = value(100).byteCount
    var outbox = Outbox(byteLimit: 10 * size)
    for number in 100..<130 { outbox.add(value(number)) }
    outbox.add(retained("status", "online"))
    #expect(outbox.lostCount == 20)
    #expect(all(&outbox) == ["status online"] + (120..<130).map { "state \($0)" })
    // The sent messages have made room again.
    for number in 200..<210 { outbox.add(value(number)) }
    #expect(outbox.lostCount == 20)
  }

  @Test func `only the latest retained message is sent, and sent again after a reconnection`() {
    var outbox = Outbox()
    for text in ["a", "b", "c"] { outbox.add(retained("last", text)) }
    outbox.add(retained("status", "online"))
    #expect(all(&outbox) == ["last c", "status online"])
    outbox.restart()
    #expect(all(&outbox) == ["last c", "status online"])
    outbox.add(retained("last", ""))
    #expect(all(&outbox) == ["last "])
    outbox.restart()
    #expect(all(&outbox) == ["status online"])
  }

  @Test func `a request that has ended is not cleared over a new connection, on which it may be a new one`() {
    var outbox = Outbox()
    let clear = Outbox.Message(topic: "interest", payload: [], isRetained: true, isOnlyForThisConnection: true)
    outbox.add(clear)
    outbox.restart()
    #expect(all(&outbox) == [])
    outbox.add(clear)
    #expect(all(&outbox) == ["interest "])
    outbox.putBack([clear])
    outbox.restart()
    #expect(all(&outbox) == [])
  }

  @Test func `messages in transit when the connection was lost are sent again, before the others`() {
    var outbox = Outbox()
    for number in 1...4 { outbox.add(value(number)) }
    outbox.add(retained("interest", ""))
    outbox.add(retained("last", "a"))
    let underway = (1...4).compactMap { _ in outbox.next() }
    outbox.add(retained("last", "b"))
    outbox.putBack(underway)
    outbox.restart()
    #expect(all(&outbox) == ["interest ", "last b", "state 1", "state 2", "state 3", "state 4"])
    // A newer message that replaced a returned one stays.
    outbox.add(retained("interest", ""))
    let cleared = outbox.next()
    outbox.add(retained("interest", "c"))
    outbox.putBack([cleared].compactMap { $0 })
    #expect(all(&outbox) == ["interest c"])
  }

  @Test func `messages to be sent again are lost first if there is no room for all`() {
    let size = value(100).byteCount
    var outbox = Outbox(byteLimit: 10 * size)
    for number in 100..<110 { outbox.add(value(number)) }
    let underway = (1...2).compactMap { _ in outbox.next() }
    for number in 110..<112 { outbox.add(value(number)) }
    outbox.putBack(underway)
    #expect(outbox.lostCount == 2)
    #expect(all(&outbox) == (102..<112).map { "state \($0)" })
  }
}
