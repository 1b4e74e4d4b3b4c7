import CLinux

/// A clock whose instants are `MonotonicInstant`s. Everything that waits takes one, so that tests can turn the hands.
public protocol MonotonicTimeSource: Clock where Instant == MonotonicInstant, Duration == Swift.Duration {}

/// The machine's CLOCK_MONOTONIC.
public struct MonotonicClock: MonotonicTimeSource {
  public init() {}

  public var now: MonotonicInstant { MonotonicInstant(nanoseconds: clinux_monotonic_ns()) }

  public var minimumResolution: Duration { .nanoseconds(1) }

  public func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
    let remaining = deadline - now
    guard remaining > .zero else { return try Task.checkCancellation() }
    // The standard library's suspending clock is CLOCK_MONOTONIC on Linux.
    try await Task.sleep(for: remaining, tolerance: tolerance, clock: .suspending)
  }
}
