import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Simulation
import Testing

/// The chips found on a bus.
struct ChipProbeTests {
  /// A bus with twins at some addresses and unknown chips at others; notes all writes.
  private final class MixedBus: I2CBus {
    let name = "mixed"
    let maximumReadLength = 32
    let written = Guarded<[[UInt8]]>([])
    private let chips: [any SimulatedChip]

    init() {
      let world = World(start: MonotonicInstant(nanoseconds: 0))
      chips = [
        SimulatedMPU6050(name: "mpu", world: world) { true }, SimulatedBMI160(name: "bmi", world: world) { true },
        SimulatedLSM6DSOX(name: "lsm", world: world, address: 0x6B) { true },
      ]
    }

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      for case .write(let bytes) in operations { written.withLock { $0.append(Array(bytes)) } }
      switch address {
      case 0x1C: throw .busy(bus: name, address: address, driver: "imu")
      // The chip stretches the clock.
      case 0x4A: throw .timedOut("0x4a")
      case 0x50: for case .read(let bytes) in operations { for index in bytes.indices { bytes[index] = 0xFF } }
      default:
        guard let chip = chips.first(where: { $0.address == address }) else {
          throw .noAcknowledge(bus: name, address: address)
        }
        try chip.transaction(address, operations)
      }
    }
  }

  @Test func `chips are identified at their addresses, and only register numbers are written`() throws {
    let bus = MixedBus()
    let found = try ChipProbe.find(on: bus).map { finding in
      switch finding {
      case .chip(let chip, let address): "\(chip.driver?.name ?? "-") \(address)"
      case .unknown(let address): "? \(address)"
      case .taken(let address, _): "taken \(address)"
      }
    }
    #expect(found == ["taken 28", "? 74", "? 80", "mpu-6050 104", "bmi160 105", "lsm6dsox 107"])
    #expect(bus.written.withLock { $0 }.allSatisfy { $0.count == 1 })
  }

  /// A chip at 0x68 with the given registers.
  private struct RegistersBus: I2CBus {
    let name = "registers"
    let maximumReadLength = 32
    var registers: [UInt8]

    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      guard address == 0x68 else { throw .noAcknowledge(bus: name, address: address) }
      var register = 0
      for operation in operations {
        switch operation {
        case .write(let bytes): register = Int(bytes[0])
        case .read(let bytes):
          for index in bytes.indices {
            bytes[index] = registers.indices.contains(register) ? registers[register] : 0
            register += 1
          }
        }
      }
    }
  }

  @Test(
    arguments: [
      // The second is the identity of a BMI270.
      ([0x24, 0x59, 0x23, 0x07, 0x31, 0x12, 0x26], "real-time clock"),
      ([0x23, 0x59, 0x23, 0x07, 0x31, 0x12, 0x26], "real-time clock"),
      // Ten at night on a clock of twelve hours, with the bit of the century.
      ([0x24, 0x00, 0x70, 0x01, 0x01, 0x81, 0x00], "real-time clock"),
      // A BMI270 after a reset: no error, ready for a command, no data.
      ([0x24, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00], "BMI270"),
    ] as [([UInt8], String)])
  func `a real-time clock is not taken for an inertial sensor`(_ registers: [UInt8], _ title: String) throws {
    let findings = try ChipProbe.find(on: RegistersBus(registers: registers))
    guard case .chip(let chip, 0x68)? = findings.first else {
      Issue.record("nothing is recognised: \(findings)")
      return
    }
    #expect(chip.title.hasPrefix(title))
    #expect(chip.driver == nil)
  }

  private struct HungBus: I2CBus {
    let name = "hung"
    let maximumReadLength = 32
    func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
      throw .timedOut("hung")
    }
  }

  @Test func `a hung bus is an error, and not an empty bus`() {
    #expect(throws: HardwareError.timedOut("hung")) { try ChipProbe.find(on: HungBus()) }
  }
}
