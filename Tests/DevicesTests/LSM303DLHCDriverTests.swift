import HardwareIO
import MonotonicTime
import Simulation
import Testing

@testable import Devices

struct LSM303DLHCDriverTests {
  typealias Step = PlaybackBus.Step

  /// The accelerometer of the same package: only its identity.
  private struct Package: I2CBus {
    let name = "package"
    let maximumReadLength = 32
    var magnetometer: any SimulatedChip
    /// The accelerometer's identity; `nil` if none answers.
    var accelerometer: UInt8?

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      if address == magnetometer.address { return try magnetometer.transaction(address, operations) }
      guard let accelerometer, address == 0x19 else { throw .noAcknowledge(bus: name, address: address) }
      for case .read(let bytes) in operations { for index in bytes.indices { bytes[index] = accelerometer } }
    }
  }

  let clock = ManualClock()

  @Test func `z has its own unit, and the bits of the average stay 0`() throws {
    let bus = PlaybackBus(
      [
        Step("who are you", [0x0A], read: [0x48, 0x34, 0x33]),
        Step("15 Hz", [0x00, 0x10]),
        Step("1100 and 980 units to a gauss", [0x01, 0x20]),
        Step("once with the gain before", [0x02, 0x01]),
        Step("which does not count", [0x03], read: [0x01, 0x00, 0x01, 0x00, 0x01, 0x00]),
        Step("continuously", [0x02, 0x00]),
        // 0.5 gauss on x, 1 on z, -0.2 on y.
        Step("x, z and y", [0x03], read: [0x02, 0x26, 0x03, 0xD4, 0xFF, 0x24]),
        Step("asleep", [0x02, 0x02]),
      ], address: 0x1E)
    let driver = MagnetometerChip.lsm303dlhc.driver(
      ChipConnection(bus: bus, address: 0x1E, clock: clock, pause: { clock.advance(by: $0) }),
      PolledConfiguration(rateHz: 15))
    try driver.start()
    let sample = try #require(try driver.read())
    let error = sample.field - SIMD3(50, -20, 100)
    #expect((error * error).max().squareRoot() < 0.001)
    driver.stop()
    bus.finish()
  }

  @Test(arguments: [3, 15, 75] as [Double])
  func `driver and simulated chip agree on rate, units and axes`(_ rateHz: Double) throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedLSM303DLHCMagnetometer(name: "twin", world: world, clock: clock) { true }
    // Only the accelerometer tells the chip from an HMC5883L, which the hub would not put to sleep as an LSM303DLHC.
    let package = Package(magnetometer: chip, accelerometer: LSM303DLHCRegister.accelerometerIdentity)
    try PolledTwinCheck(bus: package, address: 0x1E, world: world, clock: clock).run(
      .lsm303dlhc, rateHz: rateHz, fieldTolerance: rateHz < 10 ? 5 : 2.5)
  }

  @Test(arguments: [(0x33, "lsm303dlhc"), (0x44, "hmc5883l"), (nil, "hmc5883l")] as [(UInt8?, String)])
  func `the accelerometer in the same package distinguishes the chip from an HMC5883L`(
    _ accelerometer: UInt8?, _ name: String
  ) throws {
    let world = World(start: clock.now)
    let chip = SimulatedLSM303DLHCMagnetometer(name: "twin", world: world, clock: clock) { true }
    let findings = try ChipProbe.find(on: Package(magnetometer: chip, accelerometer: accelerometer))
    let names = findings.compactMap { finding -> String? in
      guard case .chip(let chip, 0x1E) = finding else { return nil }
      return chip.driver?.name
    }
    #expect(names == [name])
  }
}
