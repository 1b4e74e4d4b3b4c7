import CAllocations
import Glibc
import Hub
import Publishing
import Simulation

/// A whole hub with a 1 kHz IMU on its FIFO and a 5 Hz receiver: wake-ups a second, and allocations for each sample.
struct HubBenchmark {
  let recording: Recording

  func run() {
    measure("1 kHz IMU alone", #""imu": { chip: "mpu-6050", bus: "simulated/i2c", rateHz: 1000, power: { switch: "gpio", chip: "simulated", line: "imu-power" } }"#, rate: 1000)
  }

  private func measure(_ name: String, _ devices: String, rate: Double) {
    guard let board = try? Board(json5: Array("{ name: 'benchmark', \(devices) }".utf8), file: "benchmark") else {
      return print("\(name): the board file is wrong")
    }
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let subscription = hub.state.subscribe(as: "benchmark", receiveValue: { _ in })
    pause(seconds: 2)
    let samples = hub.devices.first?.counters.first?.value ?? 0
    let allocated = callocations_count()
    let switches = Child.contextSwitches(getpid())
    pause(seconds: 10)
    let more = Child.contextSwitches(getpid()) - switches
    let allocations = Double(callocations_count() - allocated)
    let read = Double((hub.devices.first?.counters.first?.value ?? 0) - samples)
    // Looking at it costs some allocations of its own, counted here once.
    print(
      "\(name): \(fixed(read / 10, 0)) samples a second, \(fixed(Double(more) / 10, 1)) wake-ups a second (at most 60), "
        + "\(fixed(allocations / read, 5)) allocations a sample")
    subscription.cancel()
    hub.shutDown()
  }
}
