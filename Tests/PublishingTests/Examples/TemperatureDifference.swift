import MonotonicTime
import Publishing

/// The temperature indoors minus that outdoors. Both thermometers have power while a client subscribes to this.
func difference(
  indoors: some Publisher<Double, ThermometerError>, outdoors: some Publisher<Double, ThermometerError>
) -> some Publisher<Double, ThermometerError> {
  // One value after the first reading of both, and then one for each reading of either.
  accumulateLatest([indoors, outdoors]).map { $0[0] - $0[1] }.shared(as: "difference")
}

/// A value for programs that want to know the latest difference without waking the thermometers.
final class LatestDifference: Sendable {
  private let latest = MutableProperty<Double?>(nil)

  /// Reading this wakes nothing. A subscriber receives the present value at once, and then each change.
  var value: Property<Double?> { latest.readOnly }

  /// Keeps the value up to date for as long as the subscription lasts, and on behalf of `client`.
  func follow(_ difference: some Publisher<Double, ThermometerError>, as client: Holder) -> Subscription {
    difference.subscribe(
      as: client, receiveValue: { self.latest.value = $0 }, receiveCompletion: { _ in self.latest.value = nil })
  }
}
