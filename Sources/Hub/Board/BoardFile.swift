import Devices
import Glibc
import HardwareIO
import Publishing

extension Board {
  private enum Motion: String, CaseIterable {
    case free
    case vehicle
  }

  /// Reads a board file: one JSON5 object, which may have comments, trailing commas and hexadecimal numbers.
  public init(file: String) throws(BoardError) {
    var text: [UInt8]?
    try self.init(file: file, text: &text)
  }

  /// - Parameter text: set to the contents of the file before they are parsed, so that it is also set if the file has a
  ///   mistake
  public init(file: String, text: inout [UInt8]?) throws(BoardError) {
    let bytes = try Board.bytes(of: file)
    text = bytes
    try self.init(json5: bytes, file: file)
  }

  static func bytes(of file: String) throws(BoardError) -> [UInt8] {
    do throws(Files.Errno) {
      // A board file has a few kilobytes. The limit keeps a device or a log, given by mistake, from being read to its
      // end.
      return try Files.bytes(of: file, limit: 1 << 20)
    } catch {
      throw .unreadable(file: file, reason: error.rawValue == EISDIR ? "it is a folder" : "\(error)")
    }
  }

  /// The devices that are fused by default: all receivers (the most accurate one is used), all inertial sensors (one
  /// is used, and the others stand by), and the first device of each other kind.
  private static func usuallyFused(_ devices: [DeviceDescription]) -> [String] {
    devices.enumerated().filter { index, device in
      switch device {
      case .receiver, .imu: true
      case .magnetometer, .barometer, .supplyMonitor: !devices[..<index].contains { $0.kind == device.kind }
      }
    }.map(\.element.id)
  }

  /// The devices, each with the supply monitor of its switch. A monitor that one device names applies to all devices on
  /// the switch.
  private static func withSharedMonitors(
    _ devices: [DeviceDescription], in sections: [BoardSection]
  ) throws(BoardError) -> [DeviceDescription] {
    var shared = devices
    let monitors = devices.filter { $0.kind == .supplyMonitor }.map(\.id)
    let known = Set(monitors)
    // The first device that names a monitor, for each switch.
    var ofSwitch: [Board.Power.Switch: (device: String, monitor: String)] = [:]
    for (index, device) in devices.enumerated() {
      let power = device.power
      guard let monitor = power.monitor else { continue }
      guard device.kind != .supplyMonitor else {
        throw sections[index].wrong(
          "power", expected: "without 'monitor': a supply monitor measures the power of other devices")
      }
      guard known.contains(monitor) else {
        throw sections[index].wrong(
          "power",
          expected: monitors.isEmpty
            ? "without 'monitor', as the board has no supply monitor for it"
            : "with a 'monitor' that is a supply monitor: " + monitors.joined(separator: " or "))
      }
      guard power.switch != .none else { continue }
      let first = ofSwitch[power.switch] ?? (device.id, monitor)
      guard first.monitor == monitor else {
        throw sections[index].wrong(
          "power", expected: "with the same 'monitor' as '\(first.device)', which is on the same switch")
      }
      ofSwitch[power.switch] = first
    }
    for (index, device) in devices.enumerated() where device.kind != .supplyMonitor {
      var power = device.power
      guard power.monitor == nil, let first = ofSwitch[power.switch] else { continue }
      power.monitor = first.monitor
      shared[index] = device.powered(by: power)
    }
    return shared
  }

  /// - Parameter file: the file's name in error messages
  public init(json5 bytes: [UInt8], file: String) throws(BoardError) {
    try self.init(try BoardSection(json5: bytes, file: file))
  }

  /// - Parameter root: the object of the whole file
  init(_ root: BoardSection) throws(BoardError) {
    do throws(BoardError) {
      try self.init(reading: root)
    } catch {
      throw error.explained(in: root)
    }
  }

  /// Reads a board without a search for the objects that a misplaced key belongs in.
  init(reading root: BoardSection) throws(BoardError) {
    var root = root
    try root.refuseControlCharacters()
    name = try root.required("name")
    if let key = OldBoardFile.keys.first(where: root.has) {
      throw root.wrong(key, expected: "in 'devices': sensorhub check --convert prints the file in its present form")
    }
    devices = []
    let sections = try root.namedSections("devices")
    for (id, section) in sections { devices.append(try DeviceDescription(id, section)) }
    devices = try Board.withSharedMonitors(devices, in: sections.map(\.section))
    fusedDevices = Board.usuallyFused(devices)
    if var fusion = try root.section("fusion") {
      let known = devices.map(\.id)
      if let named = try fusion.strings("devices") {
        let chosen = Set(named)
        guard chosen.isSubset(of: known), chosen.count == named.count else {
          throw fusion.wrong("devices", expected: "a list of some of " + known.joined(separator: ", "))
        }
        fusedDevices = known.filter(chosen.contains)
        for kind in [DeviceStatus.Kind.magnetometer, .barometer, .supplyMonitor] {
          guard devices.count(where: { $0.kind == kind && chosen.contains($0.id) }) <= 1 else {
            throw fusion.wrong("devices", expected: "a list with one \(kind.rawValue) at most")
          }
        }
      }
      try fusion.finish()
    }
    isVehicle = try root.choice("motion", of: Motion.self) == .vehicle
    var state = try root.section("state")
    stateRateHz = try state?.number("rateHz", in: 0.01...1000) ?? 10
    try state?.finish()
    var journal = try root.section("journal")
    journalsState = try journal?.boolean("state") ?? false
    try journal?.finish()
    gpsdParts = .all
    if var gpsd = try root.section("gpsd") {
      gpsdEndpoint = try TCPEndpoint(&gpsd, port: 2947, clients: 512)
      gpsdParts = try gpsd.parts("parts") ?? .all
      try gpsd.finish()
    }
    nmea = []
    for section in try root.sections("nmea") { nmea.append(try NMEAPort(section)) }
    http = try root.section("http").map { (section) throws(BoardError) in try HTTPPort(section) }
    for section in try root.sections("signalk") {
      if section.has("server") {
        signalKServers.append(try SignalKServer(section))
      } else if signalK == nil {
        signalK = try SignalKPort(section)
      } else {
        throw section.wrong(expected: "an object with 'server': only one object opens a port")
      }
    }
    if let section = try root.section("bridge") { bridge = try BridgePort(section, among: devices) }
    if var section = try root.section("gdl90") {
      gdl90 = try UDPTarget(try section.required("udp"), &section)
      try section.finish()
    }
    nmea2000 = try root.section("nmea2000").map { (section) throws(BoardError) in try NMEA2000Port(section) }
    if let section = try root.section("mavlink") { mavlink = try MAVLinkPort(section, among: devices) }
    isAnnounced = try root.boolean("announce") ?? true
    if var chrony = try root.section("chrony") {
      chronySocket = try chrony.required("socket")
      try chrony.finish()
    }
    record = try root.section("record").map { (section) throws(BoardError) in try RecordSettings(section) }
    fleet = try root.section("mqtt").map { (section) throws(BoardError) in try FleetSettings(section) }
    fences = []
    for (name, section) in try root.namedSections("fences") { fences.append(try FenceSettings(name, section)) }
    hooks = try root.section("on").map { (section) throws(BoardError) in try HookSettings.read(section) } ?? []
    requests = try StandingRequest.all(&root)
    if let section = try root.section("battery") {
      battery = try BatterySettings(section, devices, sections.map(\.section))
    }
    sleep = try root.section("sleep").map { (section) throws(BoardError) in try BoardSleepSettings(section) }
    try root.finish()
  }
}

extension Board.NMEAPort {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    let isDatagrams = section.has("udp")
    let others = isDatagrams ? ["port", "address", "allow", "clients"] : ["interface", "keepsAwake"]
    if let key = others.first(where: section.has) {
      throw section.wrong(key, expected: "left out \(isDatagrams ? "with" : "without") 'udp'")
    }
    if let udp = try section.string("udp") {
      place = .datagrams(try UDPTarget(udp, &section))
    } else {
      place = .clients(try TCPEndpoint(&section, port: 10110, clients: 512))
    }
    feed = try Board.NMEAFeed(&section)
    if case .datagrams(let target) = place, !target.keepsAwake, feed.parts != .all {
      throw section.wrong("parts", expected: "left out without 'keepsAwake': these datagrams wake no device")
    }
    try section.finish()
  }
}

extension Board.NMEAFeed {
  init(_ section: inout BoardSection) throws(BoardError) {
    source = try section.choice("source", of: Source.self) ?? .receiver
    rateHz = try section.number("rateHz", in: 0.1...100)
    if rateHz != nil, source == .receiver {
      throw section.wrong("rateHz", expected: "left out: the receiver sets the rate of its sentences")
    }
    let names = try section.strings("sentences")
    let known = source.sentences
    if let names, names.isEmpty || !names.allSatisfy(known.contains) {
      throw section.wrong("sentences", expected: "a list of some of " + known.joined(separator: ", "))
    }
    sentences = SentenceChoice(names: names)
    let wanted = try section.parts("parts")
    if wanted != nil, source == .receiver {
      throw section.wrong("parts", expected: "left out: the receiver's sentences need only the receiver")
    }
    parts = wanted ?? .all
  }
}

extension Board.SignalKPort {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    if let key = ["tokenFile", "caFile", "simulated", "keepsAwake", "parts"].first(where: section.has) {
      throw section.wrong(key, expected: "left out without 'server'")
    }
    let endpoint = try TCPEndpoint(&section, port: 8375, clients: 64)
    let mmsi = try section.string("mmsi")
    let isNumber = mmsi.map { $0.utf8.count == 9 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } } ?? true
    guard isNumber else { throw section.wrong("mmsi", expected: "a text of nine digits") }
    self.init(endpoint: endpoint, mmsi: mmsi)
    try section.finish()
  }
}

extension Board.NMEA2000Port {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    interface = try section.required("interface")
    // Linux allows no other names (IFNAMSIZ).
    let isName = interface.utf8.count < 16 && interface.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }
    guard isName else { throw section.wrong("interface", expected: "the name of a CAN interface, such as \"can0\"") }
    address = UInt8(try section.integer("address", in: 0...251) ?? 60)
    keepsAwake = try section.boolean("keepsAwake") ?? false
    let wanted = try section.parts("parts")
    if wanted != nil, !keepsAwake {
      throw section.wrong("parts", expected: "left out without 'keepsAwake': NMEA 2000 wakes no device then")
    }
    parts = wanted ?? .all
    try section.finish()
  }
}

extension Board.HTTPPort {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    endpoint = try TCPEndpoint(&section, port: 8080, hasPasswords: true)
    tokenFile = try section.string("tokenFile")
    hosts = try section.strings("hosts") ?? []
    tiles = try section.string("tiles")
    attribution = try section.string("attribution")
    let parts = ["{z}", "{x}", "{y}"]
    if let tiles, tileFile == nil, TileOrigin(of: tiles) == nil || !parts.allSatisfy({ tiles.contains($0) }) {
      throw section.wrong(
        "tiles",
        expected: "an address with {z}, {x} and {y} in it, such as \"https://tiles.example/{z}/{x}/{y}.png\", without "
          + "a user, blanks or quotes, or the absolute path of a map file, such as \"/srv/maps/harbour.pmtiles\"")
    }
    try section.finish()
  }
}

extension Board.Power {
  private enum Kind: String, CaseIterable {
    case none
    case gpio
  }

  private enum IdleTimeoutChoice: String, CaseIterable { case learned }

  /// The words for a receiver's sleep mode.
  fileprivate enum SleepSetting: String, CaseIterable {
    case off, backup, standby, stop, auto

    /// The sleep mode; `nil` for `auto`, because the hub then chooses the mode for each rest.
    var sleep: ReceiverSleep? { ReceiverSleep(rawValue: rawValue) }
  }

  /// - Parameters:
  ///   - typical: the chip's usual current at work, milliamperes
  ///   - standby: the current of a device that sleeps by itself without holders, milliamperes; `nil` for others
  ///   - receiver: the receiver's protocol; `nil` for other devices
  init(
    _ optional: BoardSection?, typicalMilliamperes typical: Double, standbyMilliamperes standby: Double?,
    receiver: ReceiverDriver? = nil
  ) throws(BoardError) {
    self.init(
      switch: .none, settleTime: .zero, currentMilliamperes: typical, standbyMilliamperes: standby ?? typical,
      supplyVolts: 3.3, monitor: nil, timing: LifecycleTiming(idleTimeout: .seconds(2)))
    guard var section = optional else { return }
    if try section.choice("switch", of: Kind.self) == .gpio {
      let activeLow = try section.boolean("activeLow") ?? false
      let line = GPIOLineName(chip: try section.required("chip"), line: try section.required("line"))
      `switch` = .gpio(line, activeLow: activeLow)
    }
    if let receiver {
      let setting = try section.sleep(of: receiver, isSwitched: `switch` != .none)
      (sleep, choosesSleep) = (setting?.sleep, setting == .auto)
      hasBackupBattery = try section.backupBattery(of: receiver, isSwitched: `switch` != .none)
    }
    settleTime = try section.milliseconds("settleMilliseconds") ?? settleTime
    currentMilliamperes = try section.number("currentMilliamperes", in: 0...10_000) ?? currentMilliamperes
    if choosesSleep, section.has("standbyMilliamperes") {
      throw section.wrong(
        "standbyMilliamperes", expected: "left out: each sleep mode that 'auto' may choose has its own")
    }
    standbyMilliamperes =
      try section.number("standbyMilliamperes", in: 0...10_000) ?? standby ?? receiver.flatMap(restMilliamperes)
      ?? currentMilliamperes
    supplyVolts = try section.number("supplyVolts", in: 0...24) ?? supplyVolts
    monitor = try section.string("monitor")
    learnsIdleTimeout = try section.choice("linger", of: IdleTimeoutChoice.self) == .learned
    if learnsIdleTimeout, section.has("lingerSeconds") {
      throw section.wrong("lingerSeconds", expected: "left out: with this 'linger' the hub learns the time")
    }
    timing.idleTimeout = try section.seconds("lingerSeconds") ?? timing.idleTimeout
    timing.minimumOn = try section.seconds("minimumOnSeconds") ?? timing.minimumOn
    timing.minimumOff = try section.seconds("minimumOffSeconds") ?? timing.minimumOff
    budget = try EnergyBudget(&section, ofReceiver: receiver != nil)
    try section.finish()
  }

  /// The receiver's usual current at rest, milliamperes; `nil` if it does not rest, or rests with its supply off. If
  /// several sleep modes are possible, this is the lowest of their currents.
  private func restMilliamperes(of driver: ReceiverDriver) -> Double? {
    let sleeps = choosesSleep ? driver.sleeps(isSwitched: `switch` != .none) : [sleep].compactMap { $0 }
    return sleeps.filter { $0 != .off }.map { ReceiverSleepFigures($0, of: driver).milliamperes }.min()
  }
}

extension BoardSection {
  fileprivate mutating func backupBattery(
    of driver: ReceiverDriver, isSwitched: Bool
  ) throws(BoardError) -> Bool {
    guard try boolean("backupBattery") == false else { return true }
    guard isSwitched else {
      throw wrong("backupBattery", expected: "left out without a switch: the receiver's supply is always on")
    }
    guard driver.isHelped else {
      let able = ReceiverDriver.allCases.filter(\.isHelped).map { "'\($0.rawValue)'" }.joined(separator: ", ")
      throw wrong(
        "backupBattery",
        expected:
          "left out: with driver '\(driver.rawValue)' the hub cannot restore anything in a receiver; drivers that can: \(able)"
      )
    }
    return false
  }

  fileprivate mutating func sleep(
    of driver: ReceiverDriver, isSwitched: Bool
  ) throws(BoardError) -> Board.Power.SleepSetting? {
    guard let setting = try choice("sleep", of: Board.Power.SleepSetting.self) else { return nil }
    let known = driver.sleeps(isSwitched: isSwitched)
    let isPossible = setting.sleep.map { $0 == .off ? isSwitched : known.contains($0) } ?? !known.isEmpty
    guard isPossible else {
      let choices = (isSwitched ? [.off] : []) + known
      throw wrong(
        "sleep",
        expected: choices.isEmpty
          ? "left out: with this driver a receiver without a switch cannot wake from sleep"
          : choices.map { "'\($0.rawValue)'" }.joined(separator: " or ")
            + (isSwitched ? "" : " with this driver; 'off' needs a switch"))
    }
    return setting
  }
}

extension GPIOLineName {
  init(_ section: BoardSection) throws(BoardError) {
    var section = section
    self.init(chip: try section.required("chip"), line: try section.required("line"))
    try section.finish()
  }
}
