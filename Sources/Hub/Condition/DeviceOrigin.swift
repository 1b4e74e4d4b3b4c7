import HardwareIO

extension Machine {
  /// Whether a device is real, simulated, or recorded.
  func origin(of device: DeviceDescription) -> DeviceStatus.Origin { source.origin(of: device, on: self) }
}

extension Hub {
  /// The least real of its devices decides for the board; a board without devices is real.
  public var origin: DeviceStatus.Origin {
    let origins = board.devices.map { machine.origin(of: $0) }
    if origins.contains(.recorded) { return .recorded }
    return origins.contains(.simulated) ? .simulated : .real
  }
}
