/// Counts the points that are alone in their segment, so that they are on no line.
struct LonePoints {
  private(set) var count = 0
  private(set) var totalCount = 0
  private var segmentCount = 0

  mutating func add(beginsSegment: Bool) {
    if beginsSegment { finish() }
    segmentCount += 1
    totalCount += 1
  }

  /// Counts the last point, if it is alone. Call this after the last point.
  mutating func finish() {
    if segmentCount == 1 { count += 1 }
    segmentCount = 0
  }
}
