import Fusion

/// The position of a vehicle, which goes on while the receiver has no fix.
struct Navigator {
  private var filter: NavigationFilter

  init() {
    var configuration = NavigationFilter.Configuration()
    configuration.interval = 0.01
    // The antenna is on the roof: half a metre before the inertial sensor, and one metre above it.
    configuration.leverArm = SIMD3(0.5, 0, -1)
    configuration.isVehicle = true
    filter = NavigationFilter(configuration)
  }

  /// Processes an inertial sample in body axes. `time` is in seconds, on the same clock as that of the fixes.
  mutating func update(gyroscope: SIMD3<Double>, accelerometer: SIMD3<Double>, time: Double) {
    filter.update(gyroscope: gyroscope, accelerometer: accelerometer, time: time)
  }

  /// Processes a fix of the receiver, at the time for which it is valid. It may be late.
  mutating func update(
    latitudeDegrees: Double, longitudeDegrees: Double, altitude: Double, sigma: Double, velocity: SIMD3<Double>,
    time: Double
  ) {
    let position = GeodeticPosition(
      latitudeDegrees: latitudeDegrees, longitudeDegrees: longitudeDegrees, altitude: altitude)
    filter.update(
      GNSSMeasurement(
        time: time, position: position, positionSigma: SIMD3(sigma, sigma, 2 * sigma), velocity: velocity,
        velocitySigma: SIMD3(repeating: 0.2)))
  }

  /// The position and its horizontal standard deviation in metres; `nil` until the receiver has a fix.
  var position: (GeodeticPosition, sigma: Double)? {
    guard let position = filter.position, let sigma = filter.positionSigma else { return nil }
    return (position, (sigma.x * sigma.x + sigma.y * sigma.y).squareRoot())
  }

  /// Whether the filter has had no usable fix for a while, and adds up the motion that it measures.
  var isDeadReckoning: Bool { filter.mode == .deadReckoning }
}
