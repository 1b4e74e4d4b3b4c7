/// The mean power of a device at work, as measured by a supply monitor in about the last hour of work.
struct MeanPower: Sendable {
  /// When the counted work exceeds this time, all weights are halved, so a measurement loses half its weight in
  /// each half hour of work.
  private static let memoryHours = 1.0

  private var milliwattHours = 0.0
  private var hours = 0.0

  /// The mean; `nil` before the first measurement.
  var milliwatts: Double? { hours > 0 ? milliwattHours / hours : nil }

  mutating func add(_ milliwatts: Double, hours: Double) {
    milliwattHours += milliwatts * hours
    self.hours += hours
    guard self.hours > MeanPower.memoryHours else { return }
    milliwattHours /= 2
    self.hours /= 2
  }
}
