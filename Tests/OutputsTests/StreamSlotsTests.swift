import Guarding
import Hub
import Testing

@testable import Outputs

struct StreamSlotsTests {
  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  @Test func `one machine's streams leave room for another's, and its refusal is logged once`() throws {
    let reports = Guarded<[StreamSlots.Refusal]>([])
    let places = StreamSlots(limit: 1024) { refusal in reports.withLock { $0.append(refusal) } }
    let greedy = try address("192.168.1.7")
    var held = try (0..<StreamSlots.peerLimit).map { _ in try places.take(for: greedy) }
    for _ in 0..<10 {
      #expect(throws: StreamSlots.Refusal.peer(greedy)) { try places.take(for: greedy) }
    }
    _ = try places.take(for: try address("192.168.1.8"))
    #expect(reports.withLock { $0 } == [.peer(greedy)])
    // One slot is for one stream.
    held.removeLast()
    let again = try places.take(for: greedy)
    #expect(throws: StreamSlots.Refusal.peer(greedy)) { try places.take(for: greedy) }
    #expect(reports.withLock { $0.count } == 1)
    // Once the slots are free, the limit may be reported again.
    held.removeAll()
    withExtendedLifetime(again) {}
    held = try (0..<StreamSlots.peerLimit - 1).map { _ in try places.take(for: greedy) }
    #expect(throws: StreamSlots.Refusal.peer(greedy)) {
      held += try (0..<2).map { _ in try places.take(for: greedy) }
    }
    #expect(reports.withLock { $0.count } == 2)
  }

  @Test func `the addresses of one IPv6 network count as one machine`() throws {
    let places = StreamSlots(limit: 1024) { _ in }
    let held = try (1...StreamSlots.peerLimit).map { number in
      try places.take(for: try address("2001:db8::\(String(number, radix: 16))"))
    }
    let another = try address("2001:db8::ffff")
    #expect(throws: StreamSlots.Refusal.peer(another)) { try places.take(for: another) }
    _ = try places.take(for: try address("2001:db8:0:1::1"))
    withExtendedLifetime(held) {}
  }

  @Test func `streams of this machine may use all places, but no more`() throws {
    let places = StreamSlots(limit: 100) { _ in }
    var held = try (0..<100).map { _ in try places.take(for: try address("127.0.0.1")) }
    #expect(throws: StreamSlots.Refusal.all(limit: 100)) { try places.take(for: try address("192.168.1.7")) }
    held.removeLast()
    held.append(try places.take(for: try address("192.168.1.7")))
    #expect(throws: StreamSlots.Refusal.all(limit: 100)) { try places.take(for: nil) }
    // An optimizer releases values after their last use.
    withExtendedLifetime(held) {}
  }
}
