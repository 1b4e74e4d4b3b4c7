import Devices
import HardwareIO
import Publishing

/// A reader of any kind, for code that needs its power and not its measurements.
public protocol Device: AnyObject, Sendable {
  /// The books of its power.
  var monitor: DeviceMonitor { get }
  /// Whether it has subscribers, also between two tries of its reader.
  var isHeld: Bool { get }
  /// Keeps it awake, and sends nothing.
  var wakefulness: Deferred<Void, Never> { get }
  /// Keeps its own run going without a subscriber, as lingering does, with the same learnt state.
  func keepRunning(as holder: Holder) -> Subscription
  /// Applies a new board file's power settings from now on. Its supply is not interrupted.
  ///
  /// - Parameter power: equal to the previous one in everything for which its runs are made
  func follow(_ power: Board.Power)
  /// The detector of motion without subscribers; `nil` if there is none.
  var stillness: LazyPublisher<Stillness, Never>? { get }
  /// Its supply's switch.
  var rail: PowerRail { get }
  /// Puts it to sleep if its supply cannot be switched and it is not at work, whatever a previous hub left.
  ///
  /// - Returns: whether it is present, if that can be seen
  func fallAsleep() throws(HardwareError) -> Bool
  /// Ends its runs permanently, for any subscribers.
  ///
  /// - Parameter reason: for the device's status
  func shutDown(because reason: String)
  /// Takes its supply away, whatever its reader is doing: that may hang. Returns at once.
  func cutSupply()
  /// Returns once it is not inside its scope any more, that is, once it does not need its supply.
  func isOff() async
  /// Calls back once that is so and its line is not being switched; at once, perhaps. Only after it was shut down.
  func whenOff(_ body: @escaping @Sendable () -> Void) -> Subscription
}

extension DeviceReader: Device {
  public var isHeld: Bool { readings.isHeld }

  public var stillness: LazyPublisher<Stillness, Never>? { motion?.stillness }

  public var wakefulness: Deferred<Void, Never> { Empty(completesImmediately: false).holding(readings) }

  public func keepRunning(as holder: Holder) -> Subscription { source.subscribe(as: holder, receiveValue: { _ in }) }
}
