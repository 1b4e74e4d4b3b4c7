import Guarding

/// A load switch on a GPIO line. The line is open only while the supply is on.
public final class GPIOPowerSwitch: PowerSwitch {
  public let settleTime: Duration
  private let open: @Sendable () throws(HardwareError) -> any GPIOOutput
  private let line = Guarded<(any GPIOOutput)?>(nil)

  /// - Parameter open: opens the line, at its safe level
  public init(settleTime: Duration, open: @escaping @Sendable () throws(HardwareError) -> any GPIOOutput) {
    self.settleTime = settleTime
    self.open = open
  }

  deinit { turnOff() }

  public func turnOn() throws(HardwareError) {
    try line.withLock { (line) throws(HardwareError) in
      if let line { return try line.set(true) }
      let output = try open()
      line = output
      try output.set(true)
    }
  }

  public func makeSafe() throws(HardwareError) {
    try line.withLock { (line) throws(HardwareError) in
      // Opening drives the safe level, and closing leaves it.
      if line == nil { try open().close() }
    }
  }

  public func turnOff() {
    line.withLock { line in
      line?.close()
      line = nil
    }
  }
}
