import Guarding
import Publishing
import TestSupport
import Testing

/// The effect of `switchToLatest` and `holdLatest` on what they keep running.
@Suite(.timeLimit(.minutes(10)))
struct SwitchToLatestTests {
  @Test func `a choice made inside a handler of its property keeps its upstream running at once`() {
    let property = MutableProperty(1)
    let starts = Recorder<Int>()
    let upstream = LazyPublisher<Int, Never>(deriving: "upstream") { (_) throws(Never) in
      starts.append(1)
      return Subscription {}
    }
    let choice = property.readOnly.switchToLatest(by: { _ in true }) { _ in upstream }
    let present = Guarded<Subscription?>(nil)
    let outer = property.subscribe(
      as: "outer",
      receiveValue: { value in
        let next = choice.subscribe(as: "client", receiveValue: { _ in })
        let last = present.withLock { present in
          defer { present = next }
          return present
        }
        last?.cancel()
      })
    for value in 2...4 { property.value = value }
    #expect(starts.values.count == 1)
    #expect(upstream.holders.count == 1)
    outer.cancel()
    present.withLock { $0 }?.cancel()
    #expect(upstream.holders.isEmpty)
  }
}
