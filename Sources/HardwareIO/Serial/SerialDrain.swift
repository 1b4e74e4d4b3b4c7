/// Decides how long a serial line that is about to be closed may go on sending.
struct SerialDrain {
  enum Step: Equatable {
    /// All bytes have been sent.
    case done
    case wait(milliseconds: Int)
    /// The line is blocked or takes too long, so the rest is dropped.
    case drop
  }

  /// The interval between two checks of the number of unsent bytes, in milliseconds. At the slowest speed a dozen bytes
  /// are sent in this time.
  private static let interval = 25
  private static let mostLooks = 40

  private var before = Int.max
  private var looks = 0

  mutating func look(unsent: Int) -> Step {
    if unsent <= 0 { return .done }
    guard unsent < before, looks < SerialDrain.mostLooks else { return .drop }
    (before, looks) = (unsent, looks + 1)
    return .wait(milliseconds: SerialDrain.interval)
  }
}
