import Devices
import Fusion
import HardwareIO
import MonotonicTime
import NMEA

/// Warns of settings that are valid but will not work, or will work badly, on this machine. Each warning names the
/// next step.
public enum BoardWarnings {
  /// Warns of sample rates that exceed the capacity of a bus. If the machine does not state the bus's speed, 100 kHz
  /// is assumed.
  public static func rates(of board: Board, on machine: MachineFiles) -> [String] {
    var buses: [String] = []
    for device in board.devices where device.busClocksPerSecond != nil {
      let bus = BoardWarnings.bus(of: device, on: machine)
      if !buses.contains(bus) { buses.append(bus) }
    }
    return buses.compactMap { bus in
      let devices = board.devices.filter {
        $0.busClocksPerSecond != nil && BoardWarnings.bus(of: $0, on: machine) == bus
      }
      return BusLoad(devices, on: bus, of: machine).warning
    }
  }

  private static func bus(of device: DeviceDescription, on machine: MachineFiles) -> String {
    machine.resolved(device.path) ?? device.path
  }

  /// Warns of fences that are too small, or have too short a grace, for the fused receivers. This does not depend on
  /// the machine.
  public static func fences(of board: Board) -> [String] {
    let receivers = fusedReceivers(of: board)
    if receivers.isEmpty { return [] }
    let check = FenceCheck(receivers)
    return board.fences.flatMap { fence in
      [check.doubt(of: fence), check.haste(of: fence)].compactMap { $0.map { "fence \(fence.name): \($0)" } }
    }
  }

  /// Warns of requests with an accuracy that fixes hardly ever meet, because no receiver is told to state its accuracy.
  /// There is no warning if a receiver has the driver `nmea` or `auto`, because that receiver may state its accuracy
  /// without being told to. This does not depend on the machine.
  public static func requests(of board: Board) -> [String] {
    let receivers = fusedReceivers(of: board)
    let mayStateAccuracy = receivers.contains {
      $0.settings.messages == .ubx || $0.driver == .nmea || $0.driver == .auto
    }
    if receivers.isEmpty || mayStateAccuracy { return [] }
    let radius = (Confidence.radial * GNSSObservation.rangeSigmaMetres).rounded()
    let remedy = receivers.contains { $0.driver == .ublox } ? "set 'messages: \"ubx\"' for it, or " : ""
    return board.requests.compactMap { request in
      guard let accuracy = request.request.accuracyMetres, accuracy < radius else { return nil }
      return
        "request \(request.name): the receiver states no accuracy unless it sends GST, and the hub then assumes "
        + "\(radius.short) m times its HDOP: fixes hardly ever meet \(accuracy.short) m, and the receiver is on for all "
        + "of 'within' each time; \(remedy)raise 'accuracy'"
    }
  }

  private static func fusedReceivers(of board: Board) -> [ReceiverDescription] {
    board.devices.compactMap { device -> ReceiverDescription? in
      guard case .receiver(let receiver) = device, board.fusedDevices.contains(receiver.id) else { return nil }
      return receiver
    }
  }

  /// Warns of budgets that a device uses up while it rests. This depends only on the stated currents, not on the
  /// machine.
  public static func budgets(of board: Board) -> [String] {
    board.devices.compactMap { device in
      guard let perDay = device.power.budget?.milliwattHoursPerDay else { return nil }
      let rest = 24 * device.power.restMilliwatts
      guard rest >= perDay else { return nil }
      return
        "\(device.id): at rest it draws \(rest.short) mWh a day, more than its budget of \(perDay.short): the budget "
        + "cannot last; switch its supply off, let it sleep, or raise 'milliwattHoursPerDay'"
    }
  }

  /// Warns of a battery section that has no effect, or that leaves too little time between the warning and the
  /// shutdown. This does not depend on the machine.
  public static func battery(of board: Board) -> [String] {
    guard let battery = board.battery else { return [] }
    var warnings: [String] = []
    if battery.steps.isEmpty, battery.criticalVolts == nil {
      warnings.append("battery: it only warns; add 'whenShort' to relax requests, or 'critical' to shut down")
    }
    if let critical = battery.criticalVolts, battery.lowVolts - critical < battery.hysteresisVolts {
      warnings.append(
        "battery: 'low' and 'critical' are closer than the hysteresis of \(battery.hysteresisVolts.shortVolts) V: "
          + "there is little time between the warning and the shutdown; lower 'critical'")
    }
    return warnings
  }

  /// Warns of a sleep section that will not put the board to sleep. This does not depend on the machine.
  public static func sleep(of board: Board) -> [String] {
    guard let sleep = board.sleep else { return [] }
    var warnings: [String] = []
    let holders = [
      board.record?.wakes == true ? "record.wakes" : nil, board.journalsState ? "journal.state" : nil,
      board.chronySocket == nil ? nil : "chrony",
      board.nmea.contains { $0.target?.keepsAwake == true } ? "nmea.keepsAwake" : nil,
      board.gdl90?.keepsAwake == true ? "gdl90.keepsAwake" : nil,
      board.nmea2000?.keepsAwake == true ? "nmea2000.keepsAwake" : nil,
      board.mavlink?.keepsAwake == true ? "mavlink.keepsAwake" : nil,
      board.signalKServers.contains(where: \.keepsAwake) ? "signalk.keepsAwake" : nil,
    ].compactMap { $0 }
    if !holders.isEmpty {
      warnings.append(
        "sleep: \(holders.joined(separator: ", ")) keeps devices awake, so the board never sleeps: leave it out")
    }
    if board.requests.isEmpty, board.fences.isEmpty, !sleep.sleepsWithoutEnd {
      warnings.append(
        "sleep: the board file has no request and no fence, so the board sleeps only between the fixes that clients "
          + "request; add 'requests'")
    }
    let shortest = BoardSleepPolicy.leastSleep(sleep.way) + sleep.idle
    for request in board.requests {
      guard let every = request.request.every, every <= shortest else { continue }
      warnings.append(
        "sleep: request \(request.name) wants a fix every \(every.inSeconds.short) s, and the board cannot sleep for less "
          + "than \(shortest.inSeconds.short) s, so it never sleeps: raise 'every'")
    }
    warnings += board.requests.compactMap { warning(about: $0, on: board, shortest) }
    if sleep.way == .suspend {
      for device in board.devices {
        guard let step = stepBeforeSuspension(of: device) else { continue }
        warnings.append(
          "sleep: \(device.id) may rest with its supply on, and the board is suspended only while all lines are low: "
            + step)
      }
    }
    return warnings
  }

  /// Warns of a request for a bounded error that keeps the board awake.
  ///
  /// - Parameter shortest: the shortest useful time between two fixes
  private static func warning(about request: StandingRequest, on board: Board, _ shortest: Duration) -> String? {
    guard let metres = request.request.errorMetres else { return nil }
    if !Set([StatePart.attitude]).kinds(on: board).isEmpty {
      return "sleep: request \(request.name) relies on the inertial sensor, which is not read while the board sleeps, "
        + "so the board never sleeps: replace its 'error' by 'every'"
    }
    let longest = ErrorBound.longestInterval(metres: metres)
    guard longest <= shortest else { return nil }
    return "sleep: request \(request.name) wants a fix at least every \(longest.inSeconds.rounded().short) s, and the "
      + "board cannot sleep for less than \(shortest.inSeconds.short) s, so it never sleeps: raise 'error', or replace it "
      + "by 'every'"
  }

  /// The change that lets a device rest with its line low; `nil` if the line is low anyway, or if there is none.
  private static func stepBeforeSuspension(of device: DeviceDescription) -> String? {
    guard device.power.switch != .none else { return nil }
    switch device {
    case .receiver:
      let staysOn = device.power.choosesSleep || device.power.sleep.map { $0 != .off } == true
      return staysOn ? "set its 'power.sleep' to 'off'" : nil
    case .imu(let imu):
      let waits = imu.wakesOnMotion && imu.chip.wakeOnMotion != nil && imu.dataReady != nil
      return waits ? "set its 'wakeOnMotion' to false" : nil
    default: return nil
    }
  }

  /// Warns of a machine that cannot sleep as the board file wants.
  public static func sleep(of board: Board, on machine: MachineFiles, clock: WakeClockError?) -> [String] {
    guard let sleep = board.sleep else { return [] }
    var warnings: [String] = []
    if sleep.way == .suspend, machine.isRaspberryPi {
      warnings.append("sleep: a Raspberry Pi cannot suspend to RAM: board: \"poweroff\"")
    }
    if let clock { warnings.append("sleep: \(clock)") }
    return warnings
  }

  /// Warns if the board uses the model of the earth's magnetic field after it has expired. A magnetometer uses the
  /// model for headings, and a receiver uses it for the magnetic variation at each position.
  ///
  /// - Parameter now: nanoseconds since 1970
  public static func magneticModel(of board: Board, at now: Int64) -> [String] {
    let usesModel = board.fusedKinds.contains(.magnetometer) || board.fusedKinds.contains(.receiver)
    let end = WorldMagneticModel.endYear
    guard usesModel, EarthModel.year(nanosecondsSince1970: now) >= Double(end) else { return [] }
    return [
      "the magnetic model WMM2025 ended with \(end - 1): compass headings and magnetic variations become wrong by up "
        + "to half a degree a year; update SensorHub, or set the clock if it is wrong"
    ]
  }

  /// Warns of ports, buses, pulses and CAN interfaces that the machine lacks, and of ports that its serial console uses.
  public static func devices(of board: Board, on machine: MachineFiles) -> [String] {
    var warnings = board.devices.flatMap { device in
      var found: [String] = []
      if case .receiver(let receiver) = device {
        let line = device.place == nil ? port(receiver.port, on: machine) : nil
        found = [line, pulse(receiver.pulse, on: machine)].compactMap { $0 }
      }
      if device.place != nil, device.path.hasPrefix("/dev/"), !machine.has(device.path) {
        found.append(missingBus(device.path, on: machine))
      }
      if let problem = problem(of: device, in: machine.iio) { found.append("\(problem)") }
      return found.map { "\(device.id): \($0)" }
    }
    if let interface = board.nmea2000?.interface, !machine.has("/sys/class/net/\(interface)") {
      warnings.append("nmea2000: \(HardwareError.notFound("CAN interface \(interface)", .canInterface))")
    }
    if let port = board.mavlink?.serialPort {
      if let console = console(port, on: machine) {
        warnings.append("mavlink: \(console)")
      } else if !machine.has(port) {
        warnings.append("mavlink: there is no \(port); correct 'port' in the board file")
      }
    }
    return warnings
  }

  /// Warns of ports on which the kernel prints messages or a login waits. Where a hub may open such a port, it would
  /// otherwise only find a receiver that is silent or sends nonsense.
  ///
  /// - Parameter isReal: whether a device is neither simulated nor recorded
  public static func consoles(
    of board: Board, on machine: MachineFiles, where isReal: (DeviceDescription) -> Bool = { _ in true }
  ) -> [String] {
    let receivers = board.devices.compactMap { device -> String? in
      guard case .receiver(let receiver) = device, device.place == nil, isReal(device) else { return nil }
      let port = receiver.port
      return (debugConnector(port, on: machine) ?? console(port, on: machine)).map { "\(device.id): \($0)" }
    }
    let autopilot = board.mavlink?.serialPort.flatMap { console($0, on: machine) }.map { "mavlink: \($0)" }
    return receivers + [autopilot].compactMap { $0 }
  }

  private static func debugConnector(_ port: String, on machine: MachineFiles) -> String? {
    guard port == "/dev/serial0", machine.resolved(port) == SerialPortName.debugConnector else { return nil }
    return "\(port) is this machine's debug connector; for a receiver on the header's pins: "
      + "port: \"\(SerialPortName.ofHeader(on: machine))\""
  }

  private static func console(_ port: String, on machine: MachineFiles) -> String? {
    guard port.hasPrefix("/dev/") else { return nil }
    return SerialConsole(port: port, on: machine).map { "\($0); next: \($0.nextStep)" }
  }

  /// The error if the kernel cannot trigger the measurements of a device that it drives.
  private static func problem(of device: DeviceDescription, in system: IIOSystem) -> HardwareError? {
    switch device {
    case .imu(let imu): imu.chip.problem(in: system)
    case .magnetometer(let magnetometer): magnetometer.chip.problem(in: system)
    // The hub reads a barometer of the kernel one value at a time, which needs no trigger.
    case .receiver, .barometer, .supplyMonitor: nil
    }
  }

  private static func port(_ port: String, on machine: MachineFiles) -> String? {
    guard port.hasPrefix("/dev/") else { return nil }
    if let warning = debugConnector(port, on: machine) { return warning }
    if let console = console(port, on: machine) { return console }
    return machine.has(port) ? nil : missingPort(port, on: machine)
  }

  private static func missingPort(_ port: String, on machine: MachineFiles) -> String {
    if GNSSDevice.isMeant(by: port) { return "\(HardwareError.notFound(port, .kernelReceiver))" }
    let missing = "there is no \(port)"
    let name = port.dropFirst("/dev/".count)
    let isHeader = ["ttyAMA", "ttyS", "serial"].contains { name.hasPrefix($0) } && !name.hasPrefix("serial/")
    let rules = ["/etc/udev/rules.d", "/usr/lib/udev/rules.d"].map { "\($0)/60-sensorhub.rules" }
    let isNamedByRules = name.hasPrefix("sensorhub/")
    let header = SerialPortName.ofHeader(on: machine)
    if isHeader || isNamedByRules, let uart = machine.resolved(header) {
      if isNamedByRules, rules.contains(where: machine.has) {
        return "\(missing), because no known receiver is connected; the header's UART is \(uart): "
          + "port: \"\(header)\""
      }
      return "\(missing); the header's UART is \(uart) here: port: \"\(header)\""
    }
    if isHeader || isNamedByRules, machine.hasRaspiConfig {
      return "\(missing); plug the receiver in, or for one on the header's pins: "
        + "sudo raspi-config nonint do_serial_cons 1 && sudo raspi-config nonint do_serial_hw 0 && sudo reboot"
    }
    if isNamedByRules {
      return "\(missing); plug the receiver in, or correct its port in the board file: sensorhub probe finds the port"
    }
    return "\(missing); plug the receiver in, and check its port in the board file: sensorhub probe finds the port"
  }

  private static func missingBus(_ bus: String, on machine: MachineFiles) -> String {
    let missing = "there is no \(bus)"
    // The kernel has the bus, but the module that gives programs access to it is not loaded.
    if let name = bus.split(separator: "/").last, machine.has("/sys/bus/i2c/devices/\(name)") {
      return "\(missing), although the bus is there: echo i2c-dev | sudo tee /etc/modules-load.d/i2c-dev.conf "
        + "&& sudo modprobe i2c-dev"
    }
    // Bus 1 is on a Raspberry Pi's header, and overlays create buses with other numbers. A name without a number, such
    // as one from udev, most likely means the header's bus.
    let isHeader = MachineFiles.number(ofI2CBus: bus).map { $0 == 1 } ?? true
    if isHeader, machine.hasRaspiConfig { return "\(missing): sudo raspi-config nonint do_i2c 0" }
    if isHeader, machine.isRaspberryPi {
      return "\(missing): printf '[all]\\ndtparam=i2c_arm=on\\n' | sudo tee -a /boot/firmware/config.txt && sudo reboot"
    }
    let present = machine.i2cBuses.joined(separator: ", ")
    return present.isEmpty
      ? "\(missing), and this machine has no other bus; to load the kernel's buses: sudo modprobe i2c-dev && ls /dev/i2c-*"
      : "\(missing); this machine has \(present): sensorhub probe lists its chips"
  }

  private static func pulse(_ pulse: String?, on machine: MachineFiles) -> String? {
    guard let pulse, pulse.hasPrefix("/dev/"), !machine.has(pulse) else { return nil }
    let missing = "there is no \(pulse), so the time is only as accurate as the serial line"
    return machine.isRaspberryPi
      ? "\(missing): add dtoverlay=pps-gpio,gpiopin=18, with the GPIO of the pulse, to "
        + "/boot/firmware/config.txt and restart" : "\(missing): the kernel needs pps-gpio for the pulse's line"
  }
}

/// The load that a board's chips put on one bus.
struct BusLoad {
  /// The default bus clock of Raspberry Pis.
  private static let usualHertz = 100_000.0
  /// The maximum share of the bus's time. A higher one leaves no time for the pauses that controllers and chips make
  /// between bytes.
  private static let fullShare = 0.8

  /// The bus, for example `/dev/i2c-1`.
  let bus: String
  /// The share of the bus's time that each device takes, in the order of the board file.
  let shares: [(id: String, share: Double)]
  private let hertz: Double?

  /// - Parameter bus: the bus's path with all symbolic links resolved
  init(_ devices: [DeviceDescription], on bus: String, of machine: MachineFiles) {
    self.bus = bus
    let hertz = machine.hertz(ofI2CBus: bus)
    self.hertz = hertz
    shares = devices.compactMap { device in
      device.busClocksPerSecond.map { (device.id, $0 / (hertz ?? BusLoad.usualHertz)) }
    }
  }

  /// The expected problem, and the next step; `nil` if the load is below the maximum.
  var warning: String? {
    let total = shares.reduce(0) { $0 + $1.share }
    guard total > BusLoad.fullShare else { return nil }
    let kilohertz = Int(((hertz ?? BusLoad.usualHertz) / 1000).rounded())
    let speed = "\(kilohertz) kHz" + (hertz == nil ? ", the usual speed," : "")
    let parts = shares.map { "\($0.id) \(BusLoad.percent($0.share))" }.joined(separator: ", ")
    let busy = "would be busy for \(BusLoad.percent(total)) of the time (\(parts)), and samples would be lost"
    return "\(bus) at \(speed) \(busy): " + (kilohertz < 400 ? "\(BusLoad.faster); or " : "") + "lower 'rateHz'"
  }

  private static let faster =
    "add dtparam=i2c_arm_baudrate=400000 to /boot/firmware/config.txt and restart, if all chips on the bus support this speed"

  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}

extension DeviceDescription {
  /// How many clock cycles of its bus the device needs per second; `nil` for a device without a bus, a chip with a
  /// kernel driver, and a simulated device.
  var busClocksPerSecond: Double? {
    guard let place, place.bus.hasPrefix("/dev/") else { return nil }
    return switch self {
    // At 1 Hz the hub reads about 800 bytes a second, and addresses and requests add about as much. Each byte takes
    // nine clock cycles, with its acknowledgement.
    case .receiver(let receiver): 9 * (1000 + 1000 * (receiver.settings.rateHz ?? 1))
    case .imu(let imu): imu.chip.busClocksPerSecond(rateHz: imu.rateHz, burstRateHz: imu.burstRateHz)
    case .magnetometer(let magnetometer): magnetometer.chip.busClocksPerSecond(rateHz: magnetometer.rateHz)
    case .barometer(let barometer): barometer.chip.busClocksPerSecond(rateHz: barometer.rateHz)
    case .supplyMonitor(let monitor): monitor.chip.busClocksPerSecond(rateHz: monitor.rateHz)
    }
  }
}

/// Checks fences against the usual accuracy and the shortest start of receivers, without waking a receiver.
struct FenceCheck {
  /// The radius that contains 95 % of fixes, metres. For 50 % of fixes under an open sky, data sheets state 2.5 m
  /// (u-blox NEO-6 and NEO-M8, Quectel L76), which is 5.2 m for 95 %. With corrections they state 1 m or less.
  private static let radiusMetres = (alone: 5.0, corrected: 2.0)
  /// The smallest sensible radius of a circle, in multiples of the fix radius. In such a circle, a fix within two
  /// thirds of the radius (4/9 of the area) is certainly inside. In a smaller circle most fixes are in doubt, which
  /// keeps the receiver on, and noise that lasts for the grace counts as leaving.
  private static let leastRadii = 3.0
  /// The shortest time from power-on to the first fix, seconds. Data sheets state one second for a hot start, and the
  /// receiver must boot.
  private static let hotStartSeconds = 2.0
  /// The rate of a receiver for which the board file sets none.
  private static let usualHertz = 1.0

  private let isCorrected: Bool
  private let startSeconds: Double

  /// - Parameter receivers: the fused receivers, at least one. Fixes count as corrected if any of the receivers gets
  ///   corrections. The shortest of their starts is used
  init(_ receivers: [ReceiverDescription]) {
    isCorrected = receivers.contains { $0.caster != nil }
    // The first fix after a start is inaccurate, and is not used.
    startSeconds =
      receivers.map { receiver in
        let hertz = receiver.settings.rateHz ?? FenceCheck.usualHertz
        return receiver.power.settleTime.inSeconds + FenceCheck.hotStartSeconds
          + Double(SchedulePlan.leastFixes - 1) / hertz
      }.min() ?? 0
  }

  /// Why most fixes cannot show on which side of the fence the board is, and the next step; `nil` if they can.
  func doubt(of fence: FenceSettings) -> String? {
    let radius = isCorrected ? FenceCheck.radiusMetres.corrected : FenceCheck.radiusMetres.alone
    let least = FenceCheck.leastRadii * radius
    guard !fence.area.holdsCircle(ofRadius: least) else { return nil }
    let words: (size: String, remedy: String) =
      switch fence.area.shape {
      case .circle(_, let own):
        ("its radius of \(own.short) m is", "make it \(least.short) m or more")
      case .polygon: ("it is less than \((2 * least).short) m wide everywhere, which is", "make it wider")
      }
    let corrections = isCorrected ? "" : ", or give the receiver corrections ('ntrip')"
    return
      "\(words.size) too little for fixes with a usual accuracy of \(radius.short) m: the hub would be unsure most "
      + "of the time, and report noise as leaving; \(words.remedy)\(corrections)"
  }

  /// Why the grace is too short for a receiver's start, and the next step; `nil` if it is long enough.
  func haste(of fence: FenceSettings) -> String? {
    let grace = fence.grace.inSeconds
    guard grace < startSeconds else { return nil }
    return "a grace of \(grace.short) s is less than a receiver needs to start, \(startSeconds.short) s at best: near "
      + "the edge the receiver could not sleep, and leaving would be noticed later; raise 'grace'"
  }
}
