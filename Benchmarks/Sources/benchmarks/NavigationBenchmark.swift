import CAllocations
import Fusion
import Glibc

/// The navigation filter of a wheeled vehicle, at 100 samples and 4 fixes per second.
struct NavigationBenchmark {
  func run() {
    var configuration = NavigationFilter.Configuration()
    configuration.isVehicle = true
    var filter = NavigationFilter(configuration)
    var best = Double.infinity
    var allocations = 0.0
    var time = 0.0
    for _ in 0..<6 {
      let allocated = callocations_count()
      let start = callocations_thread_seconds()
      for step in 0..<20_000 {
        time += 0.01
        // A wide circle at 10 m/s.
        let angle = 0.05 * time
        filter.update(
          gyroscope: SIMD3(0.001 * sin(time), 0, 0.05), accelerometer: SIMD3(0.1 * sin(3 * time), 0.5, -9.81),
          time: time)
        guard step % 25 == 0 else { continue }
        let place = GeodeticPosition(latitudeDegrees: 47, longitudeDegrees: 8, altitude: 400)
        filter.update(
          GNSSMeasurement(
            time: time, position: place.moved(by: SIMD3(200 * sin(angle), -200 * cos(angle), 0)),
            positionSigma: SIMD3(1, 1, 2), velocity: SIMD3(10 * cos(angle), 10 * sin(angle), 0),
            velocitySigma: SIMD3(0.1, 0.1, 0.2)))
      }
      best = min(best, (callocations_thread_seconds() - start) / 20_000)
      allocations = Double(callocations_count() - allocated) / 20_000
    }
    precondition(filter.mode == .fused)
    print(
      "GNSS/INS: \(fixed(best * 1e6, 2)) microseconds a sample (at most 3), \(fixed(allocations, 6)) allocations")
  }
}
