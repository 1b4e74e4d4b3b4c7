import Glibc

/// A board with six simulated devices of all five kinds.
enum SixDevices {
  private static func power(_ line: String) -> String {
    "power: { switch: \"gpio\", chip: \"simulated\", line: \"\(line)\" }"
  }

  static let receiver = "gps: { driver: \"nmea\", port: \"simulated/gps\", \(power("gps-power")) },"
  static let imu = "imu: { driver: \"mpu-6050\", bus: \"simulated/i2c\", rateHz: 1000, \(power("imu-power")) },"
  static let magnetometer =
    "mag: { driver: \"lis3mdl\", bus: \"simulated/i2c\", rateHz: 80, \(power("mag-power")) },"
  static let barometer = "baro: { driver: \"bme280\", bus: \"simulated/i2c\", rateHz: 70, \(power("baro-power")) },"
  private static let others = """
    roof: { driver: "nmea", port: "simulated/gps2", \(power("gps2-power")) },
    """
  static let supplyMonitor = "meter: { driver: \"ina226\", bus: \"simulated/i2c\", rateHz: 29 },"

  static let all = receiver + imu + magnetometer + barometer + supplyMonitor + others

  static func board(_ devices: String) -> String { "{ name: \"benchmark\", devices: { \(devices) } }" }

  /// Writes a board file with all devices. Returns its path.
  static func write() -> String? {
    let path = "/tmp/sensorhub-benchmark-\(getpid()).json5"
    guard let file = fopen(path, "w") else { return nil }
    fputs(board(all), file)
    return fclose(file) == 0 ? path : nil
  }
}
