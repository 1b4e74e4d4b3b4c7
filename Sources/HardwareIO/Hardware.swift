/// A source of devices: it opens the bus, port or line that a board file names. The hub uses kernel devices and
/// simulated ones in the same way.
public protocol Hardware: Sendable {
  func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus
  func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort
  /// Throws if a serial port could not be opened now, for example because permission is missing or another program uses
  /// the port. The port stays unchanged.
  func checkSerialPort(_ name: String) throws(HardwareError)
  /// Switches a receiver off that a killed hub has left on. Only the receivers of modems need this call. Other
  /// receivers are switched off by their supply line, by a command, or by the kernel.
  func makeSafe(serialPort name: String) throws(HardwareError)
  func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput
  /// - Parameter falling: whether to report falling edges instead of rising ones
  func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput
  /// Whether the bus or port of this name is simulated.
  func isSimulated(_ name: String) -> Bool
}

extension Hardware {
  public func isSimulated(_ name: String) -> Bool { false }

  public func checkSerialPort(_ name: String) throws(HardwareError) {}

  public func makeSafe(serialPort name: String) throws(HardwareError) {}
}

/// The devices that the kernel offers, and receivers on the network and of modems.
public struct LinuxHardware: Hardware {
  private let machine: MachineFiles

  /// - Parameter machine: the files that tell which ports belong to the kernel's own drivers for receivers
  public init(on machine: MachineFiles = MachineFiles()) { self.machine = machine }

  public func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
    if name.hasPrefix(IIOBus.prefix) { return IIOBus(name) }
    return try LinuxI2CBus(name)
  }

  public func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
    if let source = NetworkSource(name) { return try NetworkPort(source) }
    if let place = I2CPortName(name) { return try I2CSerialPort(place, on: try i2cBus(place.bus)) }
    if let place = ModemPortName(name) { return try ModemPort(place) }
    return try LinuxSerialPort(name, speed: speed, on: machine)
  }

  public func checkSerialPort(_ name: String) throws(HardwareError) {
    // Any number of programs can use a network source, or a modem's receiver, at the same time.
    if NetworkSource(name) != nil || ModemPortName(name) != nil { return }
    if let place = I2CPortName(name) { return try i2cBus(place.bus).claim(place.address) }
    try LinuxSerialPort.check(name, on: machine)
  }

  public func makeSafe(serialPort name: String) throws(HardwareError) {
    // The kernel switches its own receivers off when a program ends, but ModemManager does not.
    if let place = ModemPortName(name) { try ModemPort.makeSafe(place) }
  }

  public func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    try LinuxGPIOOutput(name, activeLow: activeLow, safeLevel: false)
  }

  public func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    try LinuxGPIOEdges(name, rising: !falling, falling: falling)
  }
}

/// The form of the names of simulated ports and buses, in board files and in recordings of simulated boards.
public enum SimulatedName {
  /// The prefix of such a name.
  public static let prefix = "simulated/"

  public static func isSimulated(_ name: String) -> Bool { name.hasPrefix(prefix) }
}
