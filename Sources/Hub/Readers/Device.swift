import Devices
import HardwareIO
import Publishing

/// A reader of whatever kind, for those who care about its power and not for what it measures.
public protocol Device: AnyObject, Sendable {
  /// The books of its power.
  var monitor: DeviceMonitor { get }
  /// Whether somebody wants what it measures, between two tries of its reader as well.
  var isHeld: Bool { get }
  /// Keeps it awake, and sends nothing.
  var wakefulness: Deferred<Void, Never> { get }
  /// Keeps its own run going without wanting what it measures: as one that lingers, which goes on with what it has learnt.
  func keepRunning(as holder: Holder) -> Subscription
  /// Its power is as a board file has it that was read again, from here on. What it is supplied for goes on.
  ///
  /// - Parameter power: other than before in nothing that its runs are made for
  func follow(_ power: Board.Power)
  /// What tells of motion while nobody wants what it measures; `nil` where nothing does.
  var stillness: LazyPublisher<Stillness, Never>? { get }
  /// Its supply's switch.
  var rail: PowerRail { get }
  /// Puts it to sleep if its supply cannot be switched and it is not at work, whatever a hub before this one left behind.
  ///
  /// - Returns: whether it is there, as far as that shows
  func fallAsleep() throws(HardwareError) -> Bool
  /// Ends its runs for good, whoever subscribes.
  ///
  /// - Parameter reason: as the device's status has it
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
