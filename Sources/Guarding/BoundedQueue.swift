import DequeModule

/// A queue with a maximum size. It drops its oldest elements to make room, and counts them.
///
/// ```swift
/// var events = BoundedQueue<Event>(limit: 8)
/// if events.append(event) > 0 { traffic.valueDropped() }
/// ```
///
/// By default, each element has the size 1, and the limit is a number of elements. The caller may state other sizes,
/// for example the number of bytes of each element.
public struct BoundedQueue<Element> {
  fileprivate struct Entry {
    let element: Element
    let size: Int
  }

  public let limit: Int
  /// The size of all waiting elements.
  public private(set) var size = 0
  /// The number of elements that were dropped since the queue was made.
  public private(set) var droppedCount = 0
  private var entries = Deque<Entry>()

  /// - Parameter limit: the maximum size of all waiting elements
  public init(limit: Int) { self.limit = limit }

  public var isEmpty: Bool { entries.isEmpty }
  public var count: Int { entries.count }

  /// Allocates the memory for this number of elements, so that adding them allocates nothing.
  public mutating func reserveCapacity(_ count: Int) { entries.reserveCapacity(count) }

  /// Adds an element at the end. An element that is larger than the limit empties the queue and is dropped itself.
  ///
  /// - Returns: the number of elements dropped to make room
  @discardableResult
  public mutating func append(_ element: Element, size: Int = 1) -> Int {
    entries.append(Entry(element: element, size: size))
    self.size += size
    return dropExcess()
  }

  /// Puts elements back in front of all others, in order. If there is no room for all, the first of them are dropped.
  ///
  /// - Returns: the number of elements dropped to make room
  @discardableResult
  public mutating func prepend(_ elements: [Element], size: (Element) -> Int) -> Int {
    for element in elements.reversed() {
      let size = size(element)
      entries.prepend(Entry(element: element, size: size))
      self.size += size
    }
    return dropExcess()
  }

  /// Takes the oldest element; `nil` if the queue is empty.
  public mutating func popFirst() -> Element? {
    guard let entry = entries.popFirst() else { return nil }
    size -= entry.size
    return entry.element
  }

  /// Removes all elements. They do not count as dropped.
  public mutating func removeAll() {
    entries.removeAll()
    size = 0
  }

  private mutating func dropExcess() -> Int {
    var count = 0
    while size > limit, popFirst() != nil { count += 1 }
    droppedCount += count
    return count
  }
}

extension BoundedQueue.Entry: Sendable where Element: Sendable {}
extension BoundedQueue: Sendable where Element: Sendable {}
