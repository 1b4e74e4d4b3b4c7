import CAllocations
import Glibc
import Hub
import Publishing
import Simulation

/// A whole hub with a 1 kHz IMU on its FIFO and a 5 Hz receiver: wake-ups a second, and allocations for each sample.
struct HubBenchmark {
  func run() {
    let imu = """
      imu: { driver: "mpu-6050", bus: "simulated/i2c", rateHz: 1000,
        power: { switch: "gpio", chip: "simulated", line: "imu-power" } },
      """
    let gps = """
      gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
      """
    measure("1 kHz IMU", imu)
    measure("1 kHz IMU and a receiver at 5 Hz, simulated in the same process", gps + imu)
  }

  private func measure(_ name: String, _ devices: String) {
    guard let board = try? Board(json5: Array("{ name: 'benchmark', devices: { \(devices) } }".utf8), file: "benchmark")
    else {
      return print("\(name): the board file is wrong")
    }
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let subscription = hub.state.subscribe(as: "benchmark", receiveValue: { _ in })
    pause(seconds: 2)
    func samples() -> Int { hub.imu?.monitor.status.counters.first?.value ?? 0 }
    // Counting allocates, so it stays outside of what is counted.
    let samplesBefore = samples()
    let switchesBefore = Child.contextSwitches(getpid())
    let allocationsBefore = callocations_count()
    pause(seconds: 10)
    let allocations = Double(callocations_count() - allocationsBefore)
    let switches = Double(Child.contextSwitches(getpid()) - switchesBefore)
    let read = Double(samples() - samplesBefore)
    print(
      "\(name): \(fixed(read / 10, 0)) samples a second, \(fixed(switches / 10, 1)) wake-ups a second (at most 60), "
        + "\(fixed(allocations / read, 5)) allocations a sample")
    subscription.cancel()
    hub.shutDown()
  }
}
