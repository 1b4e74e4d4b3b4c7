import MonotonicTime

/// That an epoch of a receiver's was fused. Not each is, nor each when it came: who begins to want a position is given the last one, and
/// of one that is on its way when the last has gone nobody hears.
struct FusedEpoch: Sendable {
  /// The epoch's own instant.
  var epochAt: MonotonicInstant
  /// As of when it was fused.
  var fusedAt: MonotonicInstant
}
