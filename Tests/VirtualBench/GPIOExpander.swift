import Glibc
import Guarding
import HardwareIO
import Simulation

/// A GPIO chip on an I2C bus, with the kernel's own driver: a twin of NXP's PCA9554. Programs open real lines, and
/// each change of a line is a transfer on the bus, which may fail or hang.
public final class GPIOExpander: Sendable {
  /// The label of the kernel's chip, for example `3-0020`.
  public let label: String
  /// For example `/dev/gpiochip1`.
  public let path: String
  public let bus: I2CRelay
  private let twin: SimulatedPCA9554
  private let wires: SimulatedI2CBus

  public init() throws(HardwareError) {
    let twin = SimulatedPCA9554()
    let wires = SimulatedI2CBus(name: "expander", chips: [twin])
    let bus = try I2CRelay(model: wires, mayHang: true)
    (self.twin, self.wires, self.bus) = (twin, wires, bus)
    let number = String(bus.path.split(separator: "-").last ?? "")
    try Files.write("pca9554 0x20", toDevice: "/sys/bus/i2c/devices/i2c-\(number)/new_device")
    let label = "\(number)-0020"
    self.label = label
    let chips = Files.names(in: "/sys/bus/i2c/devices/\(label)").filter { $0.hasPrefix("gpiochip") }
    guard let chip = chips.first else { throw .unexpectedDevice("the kernel's pca953x driver refuses its twin") }
    path = "/dev/\(chip)"
  }

  /// The level of a line's pin. A line that is not an output has a pull-down.
  public func level(_ line: Int) -> Bool { twin.level(line) }

  /// Lets transfers to the chip fail. `nil` ends that.
  public func inject(_ fault: I2CFault?) { wires.inject(fault, at: twin.address) }
}

/// The registers of a PCA9554, an expander with 8 lines.
///
/// Data sheet: https://www.nxp.com/docs/en/data-sheet/PCA9554_9554A.pdf, section 6.2.
private final class SimulatedPCA9554: SimulatedChip {
  private enum Register {
    static let input = 0
    static let output = 1
    static let polarity = 2
    static let configuration = 3
  }

  let name = "expander"
  let address: UInt8 = 0x20
  let maximumReadLength = 4096
  /// The values after power-on: every line is an input.
  private let registers = Guarded<[UInt8]>([0, 0xFF, 0, 0xFF])

  private static func levels(_ registers: [UInt8]) -> UInt8 {
    registers[Register.output] & ~registers[Register.configuration]
  }

  func level(_ line: Int) -> Bool { registers.withLock { SimulatedPCA9554.levels($0) } >> UInt8(line) & 1 == 1 }

  func transaction(
    _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
  ) throws(HardwareError) {
    registers.withLock { registers in
      var register = 0
      for operation in operations {
        switch operation {
        case .write(let bytes):
          guard let first = bytes.first else { continue }
          // Each further byte is for the same register.
          register = Int(first & 3)
          if register != Register.input { for value in bytes.dropFirst() { registers[register] = value } }
        case .read(let bytes):
          let levels = SimulatedPCA9554.levels(registers) ^ registers[Register.polarity]
          let value = register == Register.input ? levels : registers[register]
          bytes.copyBytes(from: repeatElement(value, count: bytes.count))
        }
      }
    }
  }
}

extension Files {
  /// Writes a value to a file of sysfs or configfs.
  static func write(_ text: String, toDevice path: String) throws(HardwareError) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { throw .system("opening \(path)", errno: errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw .system("writing '\(text)' to \(path)", errno: errno)
    }
  }
}
