import MonotonicTime

/// Filters out values that a client already has. This is needed if the client gets values from two sources, such as the
/// present value and the following ones, or one rate and then another.
struct MonotonicFilter: Equatable, Sendable {
  private var last: MonotonicInstant?

  /// Takes the instant of a value.
  ///
  /// - Returns: whether it is later than all earlier ones
  mutating func take(_ instant: MonotonicInstant) -> Bool {
    if let last, instant <= last { return false }
    last = instant
    return true
  }
}
