import HardwareIO

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
