import HardwareIO

/// The bus and the address of a chip.
public struct I2CAddress: Equatable, Sendable {
  /// The bus, for example `/dev/i2c-1`.
  public var bus: String
  public var address: UInt8

  public init(bus: String, address: UInt8) {
    self.bus = bus
    self.address = address
  }

  /// A name that distinguishes the chip, for use in file names: `i2c-1-68`.
  public var identifier: String {
    let bus = self.bus.split(separator: "/").filter { $0 != "dev" }.joined(separator: "-")
    return "\(bus)-\(String(address, radix: 16))"
  }
}

extension I2CAddress: CustomStringConvertible {
  /// A description such as `0x68 on /dev/i2c-1`.
  public var description: String {
    bus.hasPrefix(IIOBus.prefix) && address == 0 ? bus : "0x\(String(address, radix: 16)) on \(bus)"
  }
}

extension I2CAddress {
  /// - Parameters:
  ///   - addresses: the possible addresses of the chip, the usual one first; empty for a chip with a kernel driver
  ///   - usual: the address if the section names none; `nil` for the first of `addresses`
  init(_ section: inout BoardSection, addresses: [UInt8], usual: UInt8? = nil) throws(BoardError) {
    if addresses.isEmpty {
      let device = try IIODeviceName.names(&section)[0]
      bus = IIOBus.prefix + device.name + (device.label.map { "@\($0)" } ?? "")
      address = device.address ?? 0
      return
    }
    let bus = try section.required("bus")
    // The short name of a bus is accepted too.
    self.bus = bus.hasPrefix("i2c-") ? "/dev/\(bus)" : bus
    address = UInt8(try section.integer("address", in: 0x08...0x77) ?? Int(usual ?? addresses[0]))
    guard addresses.contains(address) else {
      let known = addresses.map { "0x" + String($0, radix: 16) }.joined(separator: " or ")
      throw section.wrong("address", expected: "\(known), the addresses of this chip")
    }
  }
}
