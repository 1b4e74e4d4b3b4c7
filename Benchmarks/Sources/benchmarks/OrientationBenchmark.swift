import CAllocations
import Fusion
import Glibc
import HardwareIO

/// Compares the orientation filter with the reference implementation (PyPI's `vqf`, C++, one batch call) on the same
/// samples.
struct OrientationBenchmark {
  private static let count = 50_000
  private static let interval = 0.0035
  private static let path = "/tmp/sensorhub-benchmark.imu"

  func run() {
    let samples = OrientationBenchmark.samples()
    var best = Double.infinity
    var allocations = 0.0
    for _ in 0..<7 {
      var filter = OrientationFilter(interval: OrientationBenchmark.interval)
      let allocated = callocations_count()
      let start = callocations_thread_seconds()
      for sample in samples {
        filter.update(
          gyroscope: sample.0, accelerometer: sample.1, magnetometer: sample.2, seconds: OrientationBenchmark.interval)
      }
      best = min(best, (callocations_thread_seconds() - start) / Double(samples.count))
      allocations = Double(callocations_count() - allocated) / Double(samples.count)
      precondition(filter.attitude.w.isFinite)
    }
    print("9-axis orientation: \(fixed(best * 1e9, 0)) ns an update, \(fixed(allocations, 6)) allocations")
    guard let reference = referenceSeconds(samples) else {
      return print("  the reference is not installed (pip install vqf)")
    }
    print("  reference (C++)    \(fixed(reference * 1e9, 0)) ns")
    print("  ratio              \(fixed(best / reference, 3))   (at most 0.9)")
  }

  /// The samples of a sensor that rotates about all axes at up to three radians per second while being shaken, in an
  /// undisturbed field.
  private static func samples() -> [(SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)] {
    var attitude = Quaternion.identity
    return (0..<count).map { index in
      let t = Double(index) * interval
      let rate = SIMD3(3 * sin(0.7 * t), 2 * sin(1.1 * t + 1), 1.5 * cos(0.4 * t))
      attitude = (attitude * Quaternion(rotationVector: rate * interval)).normalized
      let shaking = SIMD3(sin(13 * t), cos(17 * t), sin(11 * t))
      return (
        rate + SIMD3(0.01, -0.005, 0.003), attitude.conjugate.rotate(SIMD3(0, 0, -9.81) + shaking),
        attitude.conjugate.rotate(SIMD3(18, 0, 45))
      )
    }
  }

  private func referenceSeconds(_ samples: [(SIMD3<Double>, SIMD3<Double>, SIMD3<Double>)]) -> Double? {
    let numbers = samples.flatMap { [$0.0.x, $0.0.y, $0.0.z, $0.1.x, $0.1.y, $0.1.z, $0.2.x, $0.2.y, $0.2.z] }
    let script = """
      import time, numpy as np, vqf
      a = np.fromfile('\(OrientationBenchmark.path)').reshape(-1, 9)
      g, f, m = (np.ascontiguousarray(a[:, i:i + 3]) for i in (0, 3, 6))
      best = 1e9
      for _ in range(7):
          filter = vqf.VQF(\(OrientationBenchmark.interval))
          start = time.process_time()
          filter.updateBatch(g, f, m)
          best = min(best, time.process_time() - start)
      open('\(OrientationBenchmark.path).seconds', 'w').write(str(best / len(a)))
      """
    let file = open(OrientationBenchmark.path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    guard file >= 0 else { return nil }
    let written = numbers.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
    guard written == numbers.count * 8, Child.cpuSeconds(["python3", "-c", script], runs: 1) != nil,
      let text = try? Files.bytes(of: OrientationBenchmark.path + ".seconds")
    else { return nil }
    return Double(String(decoding: text, as: UTF8.self))
  }
}
