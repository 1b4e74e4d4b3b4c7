import CAllocations
import Glibc
import Hub
import Publishing
import Simulation

/// A whole hub with a 1 kHz IMU with FIFO, and with devices of other kinds: wake-ups per second, and allocations per
/// sample.
struct HubBenchmark {
  func run() {
    measure("1 kHz IMU", SixDevices.imu)
    measure("magnetometer at 80 Hz", SixDevices.magnetometer)
    measure("barometer at 71 Hz", SixDevices.barometer)
    measure("supply monitor at 30 Hz", SixDevices.supplyMonitor)
    measure("1 kHz IMU and a receiver at 5 Hz, simulated in the same process", SixDevices.imu + SixDevices.receiver)
    measure("six devices", SixDevices.all)
  }

  private func measure(_ name: String, _ devices: String) {
    guard let board = try? Board(json5: Array(SixDevices.board(devices).utf8), file: "benchmark") else {
      return print("\(name): the board file is wrong")
    }
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let subscription = hub.state.subscribe(as: "benchmark", receiveValue: { _ in })
    pause(seconds: 2)
    func samples() -> Int {
      hub.devices.flatMap(\.counters).filter { $0.name == "samples" }.reduce(0) { $0 + $1.value }
    }
    // Reading the counters allocates memory, so it is done outside the measured interval.
    let samplesBefore = samples()
    let switchesBefore = Child.contextSwitches(getpid())
    let allocationsBefore = callocations_count()
    pause(seconds: 10)
    let allocations = Double(callocations_count() - allocationsBefore)
    let switches = Double(Child.contextSwitches(getpid()) - switchesBefore)
    let read = Double(samples() - samplesBefore)
    print(
      "\(name): \(fixed(read / 10, 0)) samples a second, \(fixed(switches / 10, 1)) wake-ups a second, "
        + "\(fixed(allocations / read, 5)) allocations a sample")
    subscription.cancel()
    hub.shutDown()
  }
}
