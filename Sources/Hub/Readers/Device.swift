import Devices
import HardwareIO
import Publishing

/// A reader of any kind, for code that needs the device's power and not its measurements.
public protocol Device: AnyObject, Sendable {
  /// The device's monitor, which records its power state, its holders and its energy.
  var monitor: DeviceMonitor { get }
  /// Whether the device has subscribers. They also count between two attempts of its reader.
  var isHeld: Bool { get }
  /// Keeps the device awake without sending values.
  var powerLease: Deferred<Void, Never> { get }
  /// Keeps a running device on without a subscriber, as the idle timeout does.
  func keepRunning(as holder: Holder) -> Subscription
  /// Applies a new board file's power settings from now on. The supply is not interrupted.
  ///
  /// - Parameter power: equal to the previous settings in everything that a run depends on
  func follow(_ power: Board.Power)
  /// Detects motion while the device has no subscribers; `nil` if the device cannot.
  var stillness: LazyPublisher<MotionState, Never>? { get }
  /// The device's supply, which several devices may share.
  var rail: PowerRail { get }
  /// Puts the device to sleep if its supply cannot be switched and it is not working, because a previous hub may have
  /// left it awake.
  ///
  /// - Returns: whether the device is present, if that can be determined
  func fallAsleep() throws(HardwareError) -> Bool
  /// Ends the runs permanently, even if there are subscribers.
  ///
  /// - Parameter reason: the reason in the device's status
  func shutDown(because reason: String)
  /// Takes the supply away, even if the reader hangs. Returns at once.
  func cutSupply()
  /// Returns once the reader has left its scope and does not need the supply.
  func isOff() async
  /// Whether `isOff` would return at once.
  var isEnded: Bool { get }
  /// Calls back once the device is off and no thread switches its line. The call may come before this method returns.
  /// Use this only after shutting the device down.
  func whenOff(_ body: @escaping @Sendable () -> Void) -> Subscription
}

extension DeviceReader: Device {
  public var isHeld: Bool { readings.isHeld }

  public var stillness: LazyPublisher<MotionState, Never>? { motion?.stillness }

  public var powerLease: Deferred<Void, Never> { Empty(completesImmediately: false).withLease(on: readings) }

  public func keepRunning(as holder: Holder) -> Subscription { source.subscribe(as: holder, receiveValue: { _ in }) }
}
