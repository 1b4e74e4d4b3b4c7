import Publishing

/// The devices of the board in service.
extension Hub {
  /// The name of the board in protocols with only one device: the port of the selected receiver; without a receiver,
  /// the IMU's bus; without either, `none`.
  public var mainDevice: String { receivers.taken?.description.port ?? imuPath ?? "none" }

  /// The bus of the preferred inertial sensor.
  public var imuPath: String? { board.imu?.place.bus }

  /// The receivers, and the selected one.
  public var receivers: ReceiverSelection { registry.value.receivers }

  /// The preferred receiver.
  public var receiver: ReceiverReader? { receivers.candidates.first?.reader }

  /// The preferred inertial sensor.
  public var imu: IMUReader? { registry.value.imu }

  public var monitors: [DeviceMonitor] { registry.value.monitors }

  /// The monitors of devices of earlier boards that have not stopped yet.
  public var leavingMonitors: [DeviceMonitor] { machine.leaving.devices.map(\.monitor) }

  /// The rails whose devices have left the board file.
  var unusedRails: [PowerRail] {
    let devices = machine.leaving.devices + registry.value.readers
    return machine.switchedRails.filter { rail in !devices.contains { $0.rail === rail } }
  }

  /// A message for each supply that could not be switched off, including the supplies of devices that have left the
  /// board file.
  public var switchProblems: [String] {
    registry.value.switchProblems
      + unusedRails.compactMap { rail in
        let supply = rail.supply.value
        guard supply.isOn, let problem = supply.problem else { return nil }
        return "\(rail.name): it could not be switched off: \(problem)"
      }
  }

  /// The IDs of devices whose power line the hub has never driven, so that the line is as the hub found it.
  public var undrivenLines: [String] { registry.value.undrivenLines }

  /// The present status of every device. Wakes nothing.
  public var devices: [DeviceStatus] {
    let registry = registry.value
    let schedules = fixPlanner.reports(by: self)
    return registry.entries.map { entry in
      var status = entry.reader.monitor.status
      if registry.receiver(status.id) != nil { status.schedules = schedules }
      status.calibrations = entry.description.calibration?.entries ?? [:]
      status.origin = machine.origin(of: entry.description)
      if case .receiver(_, let reader) = entry { status.corrections = reader.corrections.status }
      return status
    }
  }
}
