/// The bus of a chip that a kernel driver controls. Only that driver communicates with the chip, so each transaction
/// throws.
public struct IIOBus: I2CBus {
  /// The prefix of the names of such buses in board files.
  public static let prefix = "iio/"

  public let name: String
  public let system: IIOSystem

  public var maximumReadLength: Int { 32 }

  /// - Parameter name: `iio/` and any name, which messages show
  public init(_ name: String, system: IIOSystem = IIOSystem()) {
    self.name = name
    self.system = system
  }

  public func transaction(
    _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
  ) throws(HardwareError) {
    throw .unsupported("the chip of \(name) has a kernel driver: only the driver may access it")
  }
}
