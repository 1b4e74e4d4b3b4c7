/// Where devices come from: gives the bus, port or line that a board file names. The hub asks; whether the answer is a
/// kernel device or a simulated one is not its business.
public protocol Hardware: Sendable {
  func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus
  func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort
  /// Throws if the port could not be opened, for want of permission or because another program has it. Changes nothing about it.
  func checkSerialPort(_ name: String) throws(HardwareError)
  func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput
  /// - Parameter falling: the edges at which the line falls, instead of those at which it rises
  func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput
  /// Whether nothing real is at a bus or port of this name.
  func isSimulated(_ name: String) -> Bool
}

extension Hardware {
  public func isSimulated(_ name: String) -> Bool { false }

  public func checkSerialPort(_ name: String) throws(HardwareError) {}
}

/// The devices of the kernel.
public struct LinuxHardware: Hardware {
  public init() {}

  public func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
    if name.hasPrefix(IIOBus.prefix) { return IIOBus(name) }
    return try LinuxI2CBus(name)
  }

  public func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
    if let source = NetworkSource(name) { return try NetworkPort(source) }
    return try LinuxSerialPort(name, speed: speed)
  }

  public func checkSerialPort(_ name: String) throws(HardwareError) {
    // No other program can have a network source for itself.
    if NetworkSource(name) == nil { try LinuxSerialPort.check(name) }
  }

  public func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    try LinuxGPIOOutput(name, activeLow: activeLow, safeLevel: false)
  }

  public func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    try LinuxGPIOEdges(name, rising: !falling, falling: falling)
  }
}
