import HardwareIO

extension Machine {
  /// Whether a device is real, simulated, or recorded.
  func origin(of device: DeviceDescription) -> DeviceStatus.Origin { source.origin(of: device, on: self) }
}

extension Hub {
  public func isReal(_ device: DeviceDescription) -> Bool { machine.origin(of: device) == .real }

  /// The origin of the board's values: simulated or recorded if any of its devices is. A board without devices is real.
  public var origin: DeviceStatus.Origin {
    let origins = board.devices.map { machine.origin(of: $0) }
    if origins.contains(.recorded) { return .recorded }
    return origins.contains(.simulated) ? .simulated : .real
  }
}
