import Guarding
import MonotonicTime
import Simulation
import Testing

@testable import Devices
@testable import HardwareIO

/// The drivers transfer as many bytes as the catalogue states.
struct BusReadoutTests {
  /// Counts the clocks of all transfers: nine for each byte, addresses included, and three for the beginning and the
  /// end.
  private final class CountingBus: I2CBus {
    let bus: any I2CBus
    private let counted = Guarded(0)
    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }
    var clocks: Int { counted.withLock { $0 } }

    init(_ bus: any I2CBus) { self.bus = bus }

    func transaction(
      _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
    ) throws(HardwareError) {
      var bytes = 0
      for operation in operations {
        switch operation {
        case .write(let buffer): bytes += 1 + buffer.count
        case .read(let buffer): bytes += 1 + buffer.count
        }
      }
      counted.withLock { $0 += 9 * bytes + 3 }
      try bus.transaction(address, operations)
    }
  }

  private struct Twin: Sendable, CustomTestStringConvertible {
    var chip: InertialChip
    var make: @Sendable (World, ManualClock) -> any I2CBus
    var testDescription: String { chip.title }
  }

  private static let twins: [Twin] = [
    Twin(chip: .mpu6050) { SimulatedMPU6050(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .icm20948) { SimulatedICM20948(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .icm42688) { SimulatedICM42688(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .lsm6dsox) { SimulatedLSM6DSOX(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .lsm6ds3trc) { SimulatedLSM6DS3TRC(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .lsm9ds1) { SimulatedLSM9DS1(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .bmi160) { SimulatedBMI160(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .bno085) { SimulatedBNO085(name: "twin", world: $0, clock: $1) { true } },
    Twin(chip: .bmi088) { world, clock in
      SimulatedI2CBus(
        name: "twin",
        chips: [
          SimulatedBMI088Gyroscope(name: "twin", world: world, clock: clock) { true },
          SimulatedBMI088Accelerometer(name: "twin", world: world, clock: clock, address: 0x18) { true },
        ])
    },
  ]

  @Test(arguments: twins)
  private func `an inertial sensor uses the stated share of its bus`(_ twin: Twin) throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(100))
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let bus = CountingBus(twin.make(world, clock))
    let driver = twin.chip.driver(
      ChipConnection(bus: bus, address: twin.chip.addresses[0], clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 200))
    try driver.start()
    var batch = IMUBatch()
    try driver.read(into: &batch)
    let before = bus.clocks
    for _ in 0..<250 {
      clock.advance(by: .milliseconds(40))
      try driver.read(into: &batch)
    }
    let measured = Double(bus.clocks - before) / 10
    let said = twin.chip.busClocksPerSecond(rateHz: twin.chip.rate(nearest: 200), burstRateHz: 25)
    #expect((0.85...1.15).contains(measured / said), "\(measured) clocks a second, said are \(said)")
  }

  @Test func `a polled sensor does not use more than the stated share of its bus`() throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(100))
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let bus = CountingBus(SimulatedLIS3MDL(name: "twin", world: world, clock: clock) { true })
    let chip = MagnetometerChip.lis3mdl
    let driver = chip.driver(
      ChipConnection(bus: bus, address: chip.addresses[0], clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 20))
    try driver.start()
    let before = bus.clocks
    for _ in 0..<200 {
      clock.advance(by: .milliseconds(50))
      _ = try driver.read()
    }
    let measured = Double(bus.clocks - before) / 10
    let said = chip.busClocksPerSecond(rateHz: 20)
    #expect(measured <= said && measured > said / 2, "\(measured) clocks a second, said are \(said)")
  }
}
