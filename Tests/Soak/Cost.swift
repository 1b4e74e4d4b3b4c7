/// What events took of the processors.
struct Cost {
  /// Of the hub under test.
  var hubSeconds: Double
  /// Of this process, which has them happen.
  var driverSeconds: Double
}
