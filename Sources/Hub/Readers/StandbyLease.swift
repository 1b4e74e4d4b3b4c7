import Guarding
import MonotonicTime
import Publishing

/// Keeps the first of some inertial sensors awake. While the first one fails, or is not fused because it is
/// implausible, the next one is awake as well. The others sleep.
final class StandbyLease: Sendable {
  private struct State {
    /// The lease on the remaining devices.
    var next: StandbyLease?
    var isOver = false
  }

  /// How long the first device must work again before the others are released.
  private static let proof = Duration.seconds(5)

  private let readers: ArraySlice<any Device>
  private let holders: Holders
  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - readers: the devices in the order of preference
  ///   - holders: the holders of the lease
  init(_ readers: ArraySlice<any Device>, as holders: Holders, clock: any MonotonicTimeSource) {
    self.readers = readers
    self.holders = holders
    self.clock = clock
    guard let first = readers.first else { return }
    first.powerLease.subscribe(as: holders, receiveValue: { _ in }).store(in: lifetime)
    guard readers.count > 1 else { return }
    first.monitor.changes.subscribe(
      as: "standby",
      receiveValue: { [weak self] status in
        if status.power == .failed || status.hasFinding { self?.wakeNext() }
      }
    ).store(in: lifetime)
    first.monitor.changes.map { $0.power == .tracking && !$0.hasFinding }
      .debounced(for: StandbyLease.proof, clock: clock).subscribe(
        as: "standby", receiveValue: { [weak self] works in if works { self?.releaseNext() } }
      ).store(in: lifetime)
  }

  deinit { end() }

  func end() {
    lifetime.end()
    let next = state.withLock { state in
      state.isOver = true
      defer { state.next = nil }
      return state.next
    }
    next?.end()
  }

  /// Wakes the next device. One thread at a time calls this, because a property delivers its changes one after the
  /// other.
  private func wakeNext() {
    guard state.withLock({ $0.next == nil && !$0.isOver }) else { return }
    let next = StandbyLease(readers.dropFirst(), as: holders, clock: clock)
    let isTooLate = state.withLock { state in
      if state.isOver { return true }
      state.next = next
      return false
    }
    if isTooLate { next.end() }
  }

  private func releaseNext() {
    let next = state.withLock { state in
      defer { state.next = nil }
      return state.next
    }
    next?.end()
  }
}
