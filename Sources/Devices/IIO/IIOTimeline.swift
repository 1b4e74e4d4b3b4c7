import MonotonicTime

/// Detects lost scans by the times of a buffer's scans, because the kernel does not report the scans that it drops from
/// a full buffer.
struct IIOTimeline {
  enum Order {
    case next
    /// At least two scans are missing before this one. If only one is missing, the timer may just be late.
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
