import HardwareIO
import Publishing

extension Board.Power {
  /// The switch that the board file describes. Nothing is opened until it is turned on.
  func makeSwitch(_ hardware: any Hardware) -> any PowerSwitch {
    switch self.switch {
    case .none: AlwaysOn(settleTime: settleTime)
    case .gpio(let line, let activeLow):
      GPIOPowerSwitch(settleTime: settleTime) { () throws(HardwareError) in
        try hardware.gpioOutput(line, activeLow: activeLow)
      }
    }
  }
}

extension PowerSwitch {
  /// The scope of power: runs `body` with the supply on and settled, and turns it off on every way out.
  ///
  /// - Parameter poller: ends the settling early when the reader is told to stop; `body` is not run then
  func whileOn<Output>(
    _ reading: Reading<Output, HardwareError>, _ monitor: DeviceMonitor, _ poller: Poller,
    _ body: () throws(HardwareError) -> Void
  ) throws(HardwareError) {
    // Declared before the supply is touched: turning it on may fail half-way.
    defer {
      turnOff()
      monitor.poweredOff()
    }
    try turnOn()
    reading.switchedOn()
    monitor.poweredOn()
    if poller.wait(for: nil, atMost: settleTime) == .stopped { return }
    try body()
  }
}
