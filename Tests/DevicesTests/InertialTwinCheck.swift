import Devices
import HardwareIO
import MonotonicTime
import Simulation
import Testing

/// Whether a driver's readings of a chip's twin agree with the simulated vehicle, in rate, units and axes.
struct InertialTwinCheck {
  let chip: InertialChip
  let bus: any I2CBus
  let address: UInt8
  let world: World
  let clock: ManualClock

  func run(rateHz: Double) throws {
    let driver = chip.driver(
      ChipConnection(bus: bus, address: address, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: rateHz, gyroscopeRange: .dps1000, accelerometerRange: .g8))
    #expect(chip.rate(nearest: rateHz) == rateHz)
    try driver.start()
    let began = clock.now
    let burst = Duration.nanoseconds(Int64(20e9 / rateHz))
    var batch = IMUBatch()
    var count = 0
    var worst = (rates: 0.0, force: 0.0)
    for _ in 0..<200 {
      clock.advance(by: burst)
      try driver.read(into: &batch)
      count += batch.count
      for index in 0..<batch.count {
        // The sample clock is off by half a period until it has learned. The vehicle moves too slowly for this error to
        // matter.
        let truth = world.truth(at: batch[index].at)
        let rates = SIMD3<Double>(batch[index].gyroscope) - truth.rates
        let force = SIMD3<Double>(batch[index].accelerometer) - truth.specificForce
        worst.rates = max(worst.rates, abs(rates.x), abs(rates.y), abs(rates.z))
        worst.force = max(worst.force, abs(force.x), abs(force.y), abs(force.z))
      }
    }
    #expect(abs(Double(count) - (clock.now - began).inSeconds * rateHz) < 3)
    #expect(worst.rates < 0.02 && worst.force < 0.2, "\(worst)")
    #expect(driver.counters.overflows == 0 && driver.counters.misreads == 0)
    // A late reader finds an overflow, and continues.
    clock.advance(by: .seconds(60))
    try driver.read(into: &batch)
    #expect(driver.counters.overflows == 1)
    let isWhole = batch.count > 0
    clock.advance(by: burst)
    try driver.read(into: &batch)
    #expect(batch.count > 10 && batch.followsGap != isWhole)
    // A FIFO holds more samples than a batch. Every sample still has its own time.
    clock.advance(by: burst)
    try driver.read(into: &batch)
    var last = batch[batch.count - 1].at
    let late = min(chip.fifoSampleCount, 2 * IMUBatch.capacity) * 9 / 10
    clock.advance(by: .nanoseconds(Int64(Double(late) * 1e9 / rateHz)))
    for _ in 0..<2 {
      try driver.read(into: &batch)
      for index in 0..<batch.count {
        let step = (batch[index].at - last).inSeconds * rateHz
        #expect((0.5...1.5).contains(step), "\(step) periods")
        last = batch[index].at
      }
    }
    // A sleeping chip does not measure. After the remaining samples are read, no samples follow.
    driver.stop()
    clock.advance(by: burst)
    try driver.read(into: &batch)
    clock.advance(by: .seconds(1))
    try driver.read(into: &batch)
    #expect(batch.count == 0)
  }
}
