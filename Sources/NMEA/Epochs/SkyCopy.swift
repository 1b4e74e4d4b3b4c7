/// A sky to keep. A value without heap storage, so that a stream of them allocates nothing.
public struct SkyCopy: Equatable, Sendable {
  private var storage: InlineArray<128, Satellite>
  public private(set) var count = 0

  public init(_ sky: Sky) {
    storage = InlineArray(repeating: .placeholder)
    for index in 0..<sky.count { storage[index] = sky[index] }
    count = sky.count
  }

  public var isEmpty: Bool { count == 0 }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> Satellite {
    precondition(index < count)
    // Through the span: subscripting the array itself copies all of it first.
    return storage.span[index]
  }

  /// Lends the satellites as they are lent with an epoch.
  public func withSky(_ body: (Sky) -> Void) {
    storage.span.withUnsafeBufferPointer { body(Sky($0.baseAddress, count: count)) }
  }

  public static func == (lhs: SkyCopy, rhs: SkyCopy) -> Bool {
    lhs.count == rhs.count && (0..<lhs.count).allSatisfy { lhs[$0] == rhs[$0] }
  }
}
