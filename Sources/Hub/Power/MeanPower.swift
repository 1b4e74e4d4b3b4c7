/// What a device draws while it works, as a supply monitor has seen it in the last hour or so of that.
struct MeanPower: Sendable {
  /// From then on what is older counts half as much.
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
