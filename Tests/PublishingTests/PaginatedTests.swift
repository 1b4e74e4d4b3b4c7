import Guarding
import Publishing
import TestSupport
import Testing

/// Pages that are fetched when a signal fires.
struct PaginatedTests {
  private let listener = Listener()
  private let next = Subject<Void, Never>()
  private let fetched = Recorder<Int>()

  /// Pages 0 to `last`. Fetching the page `broken` fails.
  private func pages(to last: Int, broken: Int? = nil) -> Paginated<Int, Fault> {
    Paginated(from: 0, onOutputFrom: next) { [fetched] (page) throws(Fault) in
      fetched.append(page)
      if page == broken { throw .broken }
      return (page, page < last ? page + 1 : nil)
    }
  }

  @Test func `nothing is fetched before a client subscribes, and then one page`() {
    let pages = pages(to: 2)
    next.send(())
    #expect(fetched.values.isEmpty)
    let subscription = listener.subscribe(to: pages)
    #expect(listener.events.values == [.subscription, .value(0)])
    #expect(fetched.values == [0])
    subscription.cancel()
  }

  @Test func `each signal requests one page, and the sequence ends after the last one`() {
    let subscription = listener.subscribe(to: pages(to: 2))
    next.send(())
    #expect(listener.values == [0, 1])
    next.send(())
    #expect(listener.events.values == [.subscription, .value(0), .value(1), .value(2), .finished])
    next.send(())
    #expect(fetched.values == [0, 1, 2])
    subscription.cancel()
  }

  @Test func `a single page ends at once`() {
    let subscription = listener.subscribe(to: pages(to: 0))
    #expect(listener.events.values == [.subscription, .value(0), .finished])
    subscription.cancel()
  }

  @Test func `a subscriber can request thousands of pages from inside its handler without a stack overflow`() {
    let seen = Recorder<Int>()
    let subscription = pages(to: 20_000).subscribe(
      as: "test",
      receiveValue: { [next] page in
        seen.append(page)
        next.send(())
      }, receiveCompletion: { _ in seen.append(-1) })
    #expect(seen.values == Array(0...20_000) + [-1])
    subscription.cancel()
  }

  @Test func `no page is fetched for a cancelled subscriber`() {
    let subscription = listener.subscribe(to: pages(to: 5))
    next.send(())
    subscription.cancel()
    next.send(())
    #expect(fetched.values == [0, 1])
    #expect(listener.values == [0, 1])
  }

  @Test func `a page that cannot be fetched fails the publisher`() {
    let subscription = listener.subscribe(to: pages(to: 5, broken: 1))
    next.send(())
    #expect(listener.events.values == [.subscription, .value(0), .failed(.broken)])
    next.send(())
    #expect(fetched.values == [0, 1])
    subscription.cancel()
  }

  @Test func `every subscriber begins with the first page`() {
    let pages = pages(to: 3)
    let subscription = listener.subscribe(to: pages)
    next.send(())
    let other = Listener()
    let second = other.subscribe(to: pages)
    #expect(listener.values == [0, 1])
    #expect(other.values == [0])
    next.send(())
    #expect(listener.values == [0, 1, 2])
    #expect(other.values == [0, 1])
    subscription.cancel()
    second.cancel()
  }

  @Test func `the publisher finishes when the signal finishes`() {
    let subscription = listener.subscribe(to: pages(to: 5))
    next.finish(.finished)
    #expect(listener.events.values == [.subscription, .value(0), .finished])
    subscription.cancel()
  }

  @Test func `a page that is requested while another one is fetched comes after it`() {
    let asked = Guarded(false)
    let pages = Paginated<Int, Never>(from: 0, onOutputFrom: next) { [next] (page) throws(Never) in
      let isFirst = asked.withLock { asked in
        defer { asked = true }
        return !asked
      }
      // Two signals during a page request only one page.
      if isFirst {
        next.send(())
        next.send(())
      }
      return (page, page + 1)
    }
    let subscription = listener.subscribe(to: pages)
    #expect(listener.values == [0, 1])
    next.send(())
    #expect(listener.values == [0, 1, 2])
    subscription.cancel()
  }
}
