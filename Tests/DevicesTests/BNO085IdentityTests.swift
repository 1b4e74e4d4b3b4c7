import Guarding
import MonotonicTime
import Simulation
import Testing

@testable import Devices
@testable import HardwareIO

/// Whether an address has a BNO085, and what a search does to it.
extension BNO085DriverTests {
  @Test(arguments: [0x00, 0xFF] as [UInt8])
  func `another chip and a hung bus are refused`(_ byte: UInt8) {
    let silence = BNO085DriverTests.unanswered(200, byte)
    let bus = PlaybackBus(
      [Step("reset", [5, 0, 1, 0, 1])] + silence + [Step("who are you", [6, 0, 2, 0, 0xF9, 0])] + silence,
      address: 0x4A)
    #expect(
      throws: HardwareError.unexpectedDevice("the chip at 0x4a on playback is not a BNO085, BNO080 or BNO086")
    ) { try driver(bus).start() }
    bus.finish()
  }

  @Test func `an address without a chip is reported as empty`() {
    let nobody = HardwareError.noAcknowledge(bus: "playback", address: 0x4A)
    let bus = PlaybackBus([Step("reset", [5, 0, 1, 0, 1], error: nobody)], address: 0x4A)
    #expect(throws: nobody) { try driver(bus).start() }
    bus.finish()
  }

  @Test(
    arguments: [
      ([[0x14, 0x01, 0, 0], [0x14, 0x81, 0, 1]], true), ([[0x14, 0x81, 0, 5], [0x14, 0x81, 0, 5]], true),
      ([[0x57, 0x00, 3, 255], [0x57, 0x80, 3, 0]], true),
      // The second headers are wrong in these ways: no continuation, another packet, another channel, another number,
      // and bytes that cannot be a header.
      ([[0x14, 0x01, 0, 0], [0x14, 0x01, 0, 0]], false), ([[0x14, 0x01, 0, 0], [0x15, 0x81, 0, 1]], false),
      ([[0x14, 0x01, 0, 0], [0x14, 0x81, 2, 1]], false), ([[0x14, 0x01, 0, 0], [0x14, 0x81, 0, 7]], false),
      ([[0x19, 0x00, 0x19, 0x00]], false), ([[0, 0, 0, 0]], false), ([[0xFF, 0xFF, 0xFF, 0xFF]], false),
    ] as [([[UInt8]], Bool)])
  func `two headers of one packet identify a chip`(_ headers: [[UInt8]], _ isTold: Bool) throws {
    let bus = PlaybackBus(headers.map { Step("header", [], read: $0) }, address: 0x4B)
    let registers = I2CRegisters(bus, address: 0x4B, capacity: ChipIdentity.longest)
    #expect(try InertialChip.bno085.identity.isTrue(of: registers) == isTold)
    bus.finish()
  }

  @Test func `a search on an adapter that cannot read without a register finds no chip and continues`() throws {
    let bus = PlaybackBus(
      [Step("header", [], read: [0, 0, 0, 0], error: .system("transfer", errno: 95))], address: 0x4A)
    let registers = I2CRegisters(bus, address: 0x4A, capacity: ChipIdentity.longest)
    #expect(try InertialChip.bno085.identity.isTrue(of: registers) == false)
    bus.finish()
  }

  private final class Witness: I2CBus {
    let written = Guarded(0)
    private let bus: SimulatedBNO085
    var name: String { bus.name }
    var maximumReadLength: Int { bus.maximumReadLength }

    init(_ bus: SimulatedBNO085) { self.bus = bus }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      if address == bus.address { for case .write in operations { written.withLock { $0 += 1 } } }
      try bus.transaction(address, operations)
    }
  }

  @Test func `a chip that was just switched on is found without a write, and can be started`() throws {
    let world = World(start: clock.now.advanced(by: .seconds(-100)))
    let chip = SimulatedBNO085(name: "twin", world: world, clock: clock, address: 0x4B) { true }
    let bus = Witness(chip)
    let found = try ChipProbe.find(on: bus).map { finding in
      if case .chip(let chip, let address) = finding { "\(chip.driver?.name ?? "-") \(address)" } else { "?" }
    }
    #expect(found == ["bno085 75"])
    #expect(bus.written.withLock { $0 } == 0)
    let driver = BNO085Driver(
      ChipConnection(bus: chip, address: 0x4B, clock: clock, pause: { clock.advance(by: $0) }),
      InertialConfiguration(rateHz: 200))
    try driver.start()
    clock.advance(by: .milliseconds(40))
    var batch = IMUBatch()
    try driver.read(into: &batch)
    #expect((7...9).contains(batch.count) && !batch.followsGap)
  }
}
