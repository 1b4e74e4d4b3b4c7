import HardwareIO
import Testing

/// A chip that is not the expected supply monitor: the two bytes that it returns for each 16-bit register.
struct SupplyMonitorImpostor: I2CBus, CustomTestStringConvertible {
  let testDescription: String
  let name = "impostor"
  let maximumReadLength = 32
  private let word: @Sendable (_ register: UInt8) -> UInt16

  init(_ description: String, _ word: @escaping @Sendable (_ register: UInt8) -> UInt16) {
    testDescription = description
    self.word = word
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    var register: UInt8 = 0
    for operation in operations {
      switch operation {
      case .write(let bytes):
        #expect(bytes.count == 1, "a driver must write nothing to it")
        register = bytes.first ?? 0
      case .read(let bytes):
        let word = word(register)
        for index in 0..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index % 2 == 0 ? word >> 8 : word) }
      }
    }
  }

  /// - Parameter others: the value of all other registers
  init(_ description: String, _ words: [UInt8: UInt16], others: UInt16 = 0) {
    self.init(description) { words[$0] ?? others }
  }

  static let hung: [SupplyMonitorImpostor] = [
    SupplyMonitorImpostor("low", [:]), SupplyMonitorImpostor("high", [:], others: 0xFFFF),
  ]

  /// For each property that is checked in an INA219, one impostor differs only in that property.
  static let ofINA219: [SupplyMonitorImpostor] =
    hung + [
      SupplyMonitorImpostor("INA226", [0x00: 0x4127, 0xFE: 0x5449, 0xFF: 0x2260]),
      SupplyMonitorImpostor("INA226 without its reserved bits", [0x00: 0x0127, 0xFE: 0x5449, 0xFF: 0x2260]),
      SupplyMonitorImpostor("INA228", [0x00: 0x0010, 0x01: 0xFB68, 0x02: 0x1000, 0x3E: 0x5449, 0x3F: 0x2281]),
      SupplyMonitorImpostor("HDC1080", [0x00: 0x2664, 0x01: 0x0800, 0x02: 0x1000, 0xFE: 0x5449, 0xFF: 0x1050]),
      SupplyMonitorImpostor("TMP117", [0x00: 0x0C80, 0x01: 0x0220, 0x02: 0x6000, 0x03: 0x8000]),
      // The chip decodes only two bits of the register number.
      SupplyMonitorImpostor("ADS1115") { [0x3A34, 0x8583, 0x8000, 0x7FFF][Int($0 & 0x03)] },
      SupplyMonitorImpostor("LM75") { [0x1900, 0x0000, 0x4B00, 0x5000][Int($0 & 0x03)] },
      // The chips have 8-bit registers, and return the same register again or consecutive registers.
      SupplyMonitorImpostor("PCA9685", [0x00: 0x1111, 0x01: 0x0404, 0x02: 0xE2E2, 0x03: 0xE4E4, 0x05: 0xE0E0]),
      SupplyMonitorImpostor("PCA9685 that advances", [0x00: 0x2104, 0x01: 0x04E2, 0x02: 0xE2E4, 0x05: 0xE000]),
      SupplyMonitorImpostor("a bit without a meaning", [0x00: 0x799F]),
      SupplyMonitorImpostor("a bus beyond the narrow scale", [0x00: 0x199F, 0x02: 0x7D08]),
      SupplyMonitorImpostor("a shunt beyond the scale", [0x00: 0x399F, 0x01: 0x7D01]),
      SupplyMonitorImpostor("a shunt beyond the least scale", [0x00: 0x219F, 0x01: 0xF05F]),
      SupplyMonitorImpostor("an overflow", [0x00: 0x399F, 0x02: 0x0001]),
      SupplyMonitorImpostor("an odd calibration", [0x00: 0x399F, 0x05: 0x0001]),
      SupplyMonitorImpostor("another current", [0x00: 0x399F, 0x01: 1000, 0x04: 1020, 0x05: 4096]),
    ]

  static let ofINA226: [SupplyMonitorImpostor] =
    hung + [
      SupplyMonitorImpostor("INA219", [0x00: 0x399F]),
      SupplyMonitorImpostor("INA260", [0x00: 0x6127, 0xFE: 0x5449, 0xFF: 0x2270]),
      SupplyMonitorImpostor("HDC1080", [0x00: 0x6664, 0xFE: 0x5449, 0xFF: 0x1050]),
      SupplyMonitorImpostor("another maker's", [0x00: 0x4127, 0xFE: 0x4954, 0xFF: 0x2260]),
    ]
}
