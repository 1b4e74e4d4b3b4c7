import HardwareIO

/// The properties of a chip that raises its interrupt line at the first motion, and draws microamperes until then.
public struct WakeOnMotion: Sendable {
  /// The chip's power while it waits.
  public let milliamperes: Double
  private let makeDriver: @Sendable (ChipConnection) -> any MotionDriver

  init(milliamperes: Double, makeDriver: @escaping @Sendable (ChipConnection) -> any MotionDriver) {
    self.milliamperes = milliamperes
    self.makeDriver = makeDriver
  }

  /// - Parameter connection: the edges of its line are the caller's to wait for
  public func driver(_ connection: ChipConnection) -> any MotionDriver { makeDriver(connection) }
}

/// Makes a chip wait for motion by itself. Its line changes once, and then stays until it is read: a board that moves
/// all day does not wake the processor all day.
public protocol MotionDriver: AnyObject {
  /// Configures the chip, whatever its state, to wait for motion.
  func start() throws(HardwareError)
  /// Whether it has moved since `start` or the last call; from here on its line tells of the next motion.
  ///
  /// - Throws: `unexpectedDevice` where the chip does not wait any more, as after a supply that broke down
  func takeMotion() throws(HardwareError) -> Bool
  /// Puts the chip to sleep; an error only means that it is gone already.
  func stop()
}
