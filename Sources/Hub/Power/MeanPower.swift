/// A device's power while it works, as measured by a supply monitor in about the last hour of work.
struct MeanPower: Sendable {
  /// After this time, older measurements have half the weight.
  private static let memoryHours = 1.0

  private var milliwattHours = 0.0
  private var hours = 0.0

  /// `nil` before anything was measured.
  var milliwatts: Double? { hours > 0 ? milliwattHours / hours : nil }

  mutating func add(_ milliwatts: Double, hours: Double) {
    milliwattHours += milliwatts * hours
    self.hours += hours
    guard self.hours > MeanPower.memoryHours else { return }
    milliwattHours /= 2
    self.hours /= 2
  }
}
