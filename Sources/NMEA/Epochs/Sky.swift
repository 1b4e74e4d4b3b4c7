/// A view of the satellites of an epoch.
///
/// The value points into the assembler, and is valid only inside the call that passes the epoch. The list takes
/// kilobytes, so it is not copied for each epoch. Use `satellites` to keep the satellites.
public struct Sky: @unchecked Sendable {
  // This is unchecked, and safe: the storage belongs to the assembler. Nothing else can reach the assembler while this
  // value is in use, and the assembler changes threads only as a whole.
  private let base: UnsafePointer<Satellite>?
  public let count: Int

  @inline(__always)
  init(_ base: UnsafePointer<Satellite>?, count: Int) {
    self.base = base
    self.count = count
  }

  static var empty: Sky { Sky(nil, count: 0) }

  public var isEmpty: Bool { count == 0 }

  /// - Precondition: `index` is below `count`.
  @inline(__always)
  public subscript(index: Int) -> Satellite {
    guard let base, index >= 0, index < count else { preconditionFailure("no satellite \(index) of \(count)") }
    return base[index]
  }

  /// The satellites as a copy that can be kept.
  public var satellites: [Satellite] { Array(UnsafeBufferPointer(start: base, count: count)) }

  public var usedCount: Int {
    var used = 0
    for index in 0..<count where self[index].isUsed { used += 1 }
    return used
  }
}

extension [Satellite] {
  /// Calls `body` with the satellites as a `Sky`, the form in which an epoch passes its satellites.
  public func withSky(_ body: (Sky) -> Void) {
    withUnsafeBufferPointer { body(Sky($0.baseAddress, count: $0.count)) }
  }
}
