import MonotonicTime

/// Switches a device's supply. Off is the safe state, and the state in which a switch is let go of.
public protocol PowerSwitch: Sendable {
  /// How long the device needs after `turnOn` before it can be talked to.
  var settleTime: Duration { get }
  func turnOn() throws(HardwareError)
  /// Drives the off level once, where the supply is not on already.
  func makeSafe() throws(HardwareError)
  /// Has to work after whatever went wrong before; does nothing where the supply is off.
  func turnOff()
}

/// The supply is always on; the device has other ways to save power, or none.
public struct AlwaysOn: PowerSwitch {
  public let settleTime: Duration

  public init(settleTime: Duration) { self.settleTime = settleTime }

  public func turnOn() {}
  public func makeSafe() {}
  public func turnOff() {}
}
