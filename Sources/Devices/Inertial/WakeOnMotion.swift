import HardwareIO

/// The properties of a chip that raises its interrupt line at the first motion, and draws microamperes until then.
public struct WakeOnMotion: Sendable {
  /// The supply current while the chip waits, mA.
  public let milliamperes: Double
  private let makeDriver: @Sendable (ChipConnection) -> any MotionDriver

  init(milliamperes: Double, makeDriver: @escaping @Sendable (ChipConnection) -> any MotionDriver) {
    self.milliamperes = milliamperes
    self.makeDriver = makeDriver
  }

  /// - Parameter connection: the chip's connection; the caller waits for the edges of its line
  public func driver(_ connection: ChipConnection) -> any MotionDriver { makeDriver(connection) }
}

/// Configures a chip to detect motion. The interrupt line changes once, and then stays until the chip is read, so a
/// board that moves all day does not wake the processor all day.
public protocol MotionDriver: AnyObject {
  /// Configures the chip, whatever its state, to detect motion.
  func start() throws(HardwareError)
  /// Whether the chip has moved since `start` or the last call. After the call, the chip's line reports the next
  /// motion.
  ///
  /// - Throws: `unexpectedDevice` if the chip no longer detects motion, for example because its supply failed
  func takeMotion() throws(HardwareError) -> Bool
  /// Puts the chip to sleep. Ignores errors, which mean that the chip no longer answers.
  func stop()
}
