/// The bus of a chip that a driver of the kernel controls: nothing else communicates with the chip.
public struct IIOBus: I2CBus {
  /// Of the buses that a board names, those that begin with this.
  public static let prefix = "iio/"

  public let name: String
  public let system: IIOSystem

  public var maximumReadLength: Int { 32 }

  /// - Parameter name: `iio/` and something for people
  public init(_ name: String, system: IIOSystem = IIOSystem()) {
    self.name = name
    self.system = system
  }

  public func transaction(
    _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
  ) throws(HardwareError) {
    throw .unsupported("the chip of \(name) has a kernel driver: only that may access it")
  }
}
