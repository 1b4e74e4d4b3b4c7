import FoundationEssentials

/// The parts of a state that `verify` reads. Of the position, it reads only the age and the accuracy, not the
/// coordinates.
struct VerifiedState: Decodable {
  struct Vector: Decodable {
    var x, y, z, age: Double
    var source: String

    var magnitude: Double { (x * x + y * y + z * z).squareRoot() }
  }

  struct Position: Decodable {
    var age: Double
    var source: String
    var sigmaHorizontal: Double?
  }

  struct Fix: Decodable { var satellites: Int? }

  struct Air: Decodable {
    var pressure, age: Double
    var source: String
  }

  struct Supply: Decodable {
    var volts, age: Double
    var source: String
  }

  var monotonic: Double
  var position: Position?
  var fix: Fix?
  var acceleration: Vector?
  var rates: Vector?
  var magneticField: Vector?
  var air: Air?
  var supply: Supply?
}

/// The measurements of one quantity while a device was awake: their number, rate, mean and noise.
struct VerifiedValues {
  private(set) var count = 0
  private var sum = 0.0
  private var squares = 0.0
  private var first: Double?
  private var last: Double?

  /// Adds a value. A value with the instant of the last one is the same measurement in another state, and is ignored.
  ///
  /// - Parameter instant: the time of the measurement, in seconds of the hub's clock
  mutating func take(_ value: Double, at instant: Double) {
    if let last, instant <= last + 1e-5 { return }
    // Sum the differences from the first value: this keeps more digits if values vary little.
    let offset = value - reference(value)
    count += 1
    sum += offset
    squares += offset * offset
    first = first ?? instant
    last = instant
  }

  private var firstValue: Double?

  private mutating func reference(_ value: Double) -> Double {
    if let firstValue { return firstValue }
    firstValue = value
    return value
  }

  var mean: Double? { firstValue.map { $0 + sum / Double(count) } }

  /// The standard deviation; `nil` for fewer than two values.
  var noise: Double? {
    guard count > 1 else { return nil }
    return max(0, (squares - sum * sum / Double(count)) / Double(count - 1)).squareRoot()
  }

  /// The number of measurements a second; `nil` for fewer than two values.
  var rateHz: Double? {
    guard count > 1, let first, let last, last > first else { return nil }
    return Double(count - 1) / (last - first)
  }
}
