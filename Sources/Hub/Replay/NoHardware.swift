import HardwareIO

/// The hardware of a machine that has no devices, such as that of a replay.
struct NoHardware: Hardware {
  /// A device that was simulated in the recording is simulated in the replay.
  func isSimulated(_ name: String) -> Bool { SimulatedName.isSimulated(name) }
  func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus { throw .notFound(name) }
  func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort { throw .notFound(name) }
  func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    throw .notFound("\(name)")
  }
  func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    throw .notFound("\(name)")
  }
}
