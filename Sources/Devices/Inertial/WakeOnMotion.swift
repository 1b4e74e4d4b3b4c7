import HardwareIO

/// What a chip can do that raises its interrupt line at the first motion, and draws microamperes until then.
public struct WakeOnMotion: Sendable {
  /// What the chip draws meanwhile.
  public let milliamperes: Double
  private let makeDriver: @Sendable (ChipConnection) -> any MotionDriver

  init(milliamperes: Double, makeDriver: @escaping @Sendable (ChipConnection) -> any MotionDriver) {
    self.milliamperes = milliamperes
    self.makeDriver = makeDriver
  }

  /// - Parameter connection: the edges of its line are the caller's to wait for
  public func driver(_ connection: ChipConnection) -> any MotionDriver { makeDriver(connection) }
}

/// Has a chip wait for motion by itself. Its line changes once, and then stays as it is until it is asked: a board that moves all day
/// wakes nobody all day.
public protocol MotionDriver: AnyObject {
  /// Configures the chip, whatever state it is in, and has it wait.
  func start() throws(HardwareError)
  /// Whether it has moved since `start` or the last call; from here on its line tells of the next motion.
  ///
  /// - Throws: `unexpectedDevice` where the chip does not wait any more, as after a supply that broke down
  func takeMotion() throws(HardwareError) -> Bool
  /// Puts the chip to sleep; an error only means that it is gone already.
  func stop()
}
