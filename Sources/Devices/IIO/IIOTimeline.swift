import MonotonicTime

/// Detects lost scans from the times of the scans in a buffer. The kernel does not report the scans that it drops when
/// the buffer is full.
struct IIOTimeline {
  enum Order {
    case next
    /// At least two scans are missing before this one. A gap of a single scan is ignored, because the timer may be
    /// late.
    case behindGap
    /// The scan is not later than the previous one.
    case outOfOrder
  }

  private let longestStep: Int64
  private var last: Int64?

  init(rateHz: Double) { longestStep = Int64(2.5e9 / min(max(rateHz, 0.001), 1e6)) }

  mutating func place(_ at: MonotonicInstant) -> Order {
    guard let before = last else {
      last = at.nanoseconds
      return .next
    }
    guard at.nanoseconds > before else { return .outOfOrder }
    last = at.nanoseconds
    return at.nanoseconds - before > longestStep ? .behindGap : .next
  }
}
