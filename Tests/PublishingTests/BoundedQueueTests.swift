import Guarding
import Testing

struct BoundedQueueTests {
  private func taken<Element>(_ queue: BoundedQueue<Element>) -> [Element] {
    var queue = queue
    var elements: [Element] = []
    while let element = queue.popFirst() { elements.append(element) }
    return elements
  }

  @Test func `a full queue drops its oldest elements and counts them`() {
    var queue = BoundedQueue<Int>(limit: 3)
    #expect((1...3).map { queue.append($0) } == [0, 0, 0])
    #expect(queue.append(4) == 1)
    #expect(queue.append(5) == 1)
    #expect(queue.droppedCount == 2 && queue.count == 3)
    #expect(taken(queue) == [3, 4, 5])
  }

  @Test func `a large element takes the place of several small ones`() {
    var queue = BoundedQueue<String>(limit: 10)
    for name in ["a", "b", "c"] { queue.append(name, size: 3) }
    #expect(queue.append("large", size: 7) == 2)
    #expect(queue.size == 10)
    #expect(taken(queue) == ["c", "large"])
  }

  @Test func `an element that is larger than the limit empties the queue`() {
    var queue = BoundedQueue<String>(limit: 10)
    queue.append("a")
    #expect(queue.append("large", size: 11) == 2)
    #expect(queue.isEmpty && queue.size == 0)
  }

  @Test func `elements that are put back come first in their order and the oldest is dropped`() {
    var queue = BoundedQueue<Int>(limit: 3)
    queue.append(4)
    #expect(queue.prepend([1, 2, 3]) { _ in 1 } == 1)
    #expect(taken(queue) == [2, 3, 4])
  }

  @Test func `removed elements do not count as dropped`() {
    var queue = BoundedQueue<Int>(limit: 3)
    queue.append(1)
    queue.removeAll()
    #expect(queue.isEmpty && queue.size == 0 && queue.droppedCount == 0)
    #expect(queue.popFirst() == nil)
  }
}
