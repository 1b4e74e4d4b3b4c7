import Fusion
import Guarding
import Publishing

/// Decides which values have a position that is far enough from the last delivered position.
struct MovedFilter: Sendable {
  let metres: Double
  private var last: GeodeticPosition?

  init(metres: Double) { self.metres = metres }

  /// Whether to deliver a value. The first position is delivered, and a value without a position never is.
  mutating func takes(_ position: FusedState.Position?) -> Bool {
    guard let position else { return false }
    let place = GeodeticPosition(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees, altitude: 0)
    if let last {
      let way = place.offset(from: last)
      guard (way.x * way.x + way.y * way.y).squareRoot() >= metres else { return false }
    }
    last = place
    return true
  }
}

/// A value that may have a position.
protocol Positioned: Sendable {
  var place: FusedState.Position? { get }
}

extension FusedState: Positioned {
  var place: Position? { position?.value }
}

extension RequestedFix: Positioned {
  var place: FusedState.Position? { state.position?.value }
}

extension Publisher where Output: Positioned, Failure == Never {
  /// Publishes the first value with a position, and each later one that is at least this far from the last published
  /// one.
  func moved(metres: Double) -> Deferred<Output, Never> {
    Deferred { [self] _ in
      let filter = Guarded(MovedFilter(metres: metres))
      return compactMap { value in filter.withLock { $0.takes(value.place) } ? value : nil }
    }
  }
}
