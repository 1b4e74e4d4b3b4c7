import Devices
import HardwareIO

/// A GNSS receiver of a board: its connection, its settings, its power and its antenna.
public struct ReceiverDescription: Equatable, Sendable {
  /// The device's name in the board file.
  public var id: String
  /// The protocol for commands to the receiver, if any.
  public var driver: ReceiverDriver
  /// The settings to send to the receiver.
  public var settings = ReceiverSettings()
  /// The tty, a `GNSSDevice`, the address of a `NetworkSource`, an `I2CPortName` or a `ModemPortName`.
  public var port: String
  /// The baud rate of the line; `nil` if the hub has to find it.
  public var speed: BaudRate?
  public var power: Board.Power
  /// The kernel's device for the receiver's pulse per second, such as `/dev/pps0`.
  public var pulse: String?
  /// The antenna's position relative to the IMU: forward, right, down, metres.
  public var leverArmMetres: SIMD3<Double>
  /// Degrees to add to the heading that the receiver states, to get the heading of the bow.
  public var headingOffsetDegrees = 0.0
  /// The time from a fix until the first byte of its epoch arrives.
  public var fixLatency: Duration
  /// The source of the receiver's corrections; `nil` for none. With a source, a receiver with UBX messages also reports
  /// its use of the corrections.
  public var caster: CasterSettings?

  /// Whether both descriptions read the receiver in the same way; the mounting may differ.
  func isRead(like other: ReceiverDescription) -> Bool {
    (id, port, speed, power.ofReader) == (other.id, other.port, other.speed, other.power.ofReader)
      && (driver, settings) == (other.driver, other.settings)
  }

  /// Whether the kernel or ModemManager switches the receiver on while the hub reads it.
  public var isSwitchedByOthers: Bool { ReceiverDescription.isSwitchedByOthers(port) }

  private static func isSwitchedByOthers(_ port: String) -> Bool {
    GNSSDevice.isMeant(by: port) || ModemPortName.isMeant(by: port)
  }

  /// Whether bytes can be sent to the receiver, for commands and corrections.
  var takesBytes: Bool { NetworkSource(port)?.takesBytes ?? !ModemPortName.isMeant(by: port) }

  /// Whether the receiver has a switch, and keeps its data while the supply is off.
  var remembers: Bool { power.switch != .none && power.hasBackupBattery }

  var configuration: ReceiverConfiguration {
    var configuration = ReceiverConfiguration(
      driver: driver, speed: speed, settings: settings, sleep: power.sleep, isSwitched: power.switch != .none)
    configuration.hasBackupBattery = power.hasBackupBattery
    configuration.choosesSleep = power.choosesSleep
    return configuration
  }
}

extension ReceiverDescription {
  init(_ id: String, _ driver: ReceiverDriver, _ section: BoardSection) throws(BoardError) {
    var section = section
    self.id = id
    self.driver = driver
    let busPort = try ReceiverDescription.busPort(&section)
    port = if let busPort { busPort } else { try section.required("port") }
    speed = try section.baudRate("speed")
    settings = try ReceiverSettings(of: driver, &section)
    pulse = try section.string("pps")
    leverArmMetres = try section.vector("leverArmMetres", limit: 1000) ?? .zero
    headingOffsetDegrees = try section.number("headingOffsetDegrees", in: -360...360) ?? 0
    fixLatency =
      try section.number("fixLatencyMilliseconds", in: 0...400).map { .nanoseconds(Int64($0 * 1e6)) } ?? .zero
    caster = try section.section("ntrip").map { (section) throws(BoardError) in try CasterSettings(section) }
    settings.reportsCorrections = caster != nil && settings.messages == .ubx
    // A receiver without a sleep mode continues to work, so it has no standby current of its own. The supply of a
    // receiver on the network is not this board's, so its current counts as 0. The kernel and ModemManager switch off
    // the receivers that they control, so their standby current counts as 0.
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: NetworkSource.isMeant(by: port) ? 0 : 40,
      standbyMilliamperes: ReceiverDescription.isSwitchedByOthers(port) ? 0 : nil, receiver: driver)
    try checkSource(section)
    try checkDevice(section)
    try section.finish()
  }

  /// The port of a receiver on an I2C bus, whose section has the keys of a chip; `nil` for another receiver.
  private static func busPort(_ section: inout BoardSection) throws(BoardError) -> String? {
    guard section.has("bus") else { return nil }
    if section.has("port") {
      throw section.wrong("bus", expected: "left out, or 'port': a receiver is connected to one of them")
    }
    let place = try I2CAddress(&section, addresses: Array(0x08...0x77), usual: I2CPortName.usualAddress)
    return "\(I2CPortName(bus: place.bus, address: place.address))"
  }

  private func checkDevice(_ section: BoardSection) throws(BoardError) {
    if let key = ["speed", "setSpeed"].first(where: section.has), !SerialPortName.hasSpeed(port) {
      throw section.wrong(key, expected: "left out: \(port) has no speed that the hub could set")
    }
    if I2CPortName(port) != nil { return try checkBus(section) }
    if ModemPortName.isMeant(by: port) { try checkModem(section) }
    guard isSwitchedByOthers else { return }
    if power.choosesSleep || power.sleep ?? .off != .off {
      throw section.wrong("power", expected: "without 'sleep': \(port) is switched without the hub")
    }
  }

  private func checkModem(_ section: BoardSection) throws(BoardError) {
    guard ModemPortName(port) != nil else {
      throw section.wrong("port", expected: "\"modem://\", or with a number from 'mmcli -L', as in \"modem://0\"")
    }
    if driver != .nmea { throw section.wrong("driver", expected: "'nmea': nothing can be sent to \(port)") }
    if caster != nil {
      throw section.wrong("ntrip", expected: "left out: corrections cannot be sent to \(port)")
    }
  }

  private func checkBus(_ section: BoardSection) throws(BoardError) {
    guard [.nmea, .auto, .ublox].contains(driver) else {
      throw section.wrong("driver", expected: "'ublox', 'auto' or 'nmea': the hub reads only u-blox receivers on a bus")
    }
    if power.choosesSleep || power.sleep == .backup {
      throw section.wrong(
        "power", expected: "with 'sleep: \"stop\"' or without 'sleep': a bus does not wake a receiver")
    }
  }

  private func checkSource(_ section: BoardSection) throws(BoardError) {
    guard NetworkSource.isMeant(by: port) else { return }
    guard let source = NetworkSource(port) else {
      throw section.wrong(
        "port",
        expected: "a tty, or an address such as \"tcp://192.168.1.7:10110\", \"udp://:10110\" or \"gpsd://host\"")
    }
    if source.takesBytes { return }
    if driver != .nmea {
      throw section.wrong(
        "port",
        expected: "a tty or a tcp:// address for driver '\(driver.rawValue)': nothing can be sent to \(port)")
    }
    if caster != nil {
      throw section.wrong("ntrip", expected: "left out: corrections cannot be sent to \(port)")
    }
  }
}

// The keys of a board file for receivers that take commands.
extension ReceiverSettings {
  /// Reads the settings of a receiver from its section, and checks them against the abilities of its driver.
  init(of driver: ReceiverDriver, _ section: inout BoardSection) throws(BoardError) {
    self.init()
    if let key = Key.allCases.first(where: { driver.lackingKeys.contains($0) && section.has($0.rawValue) }) {
      let able = ReceiverDriver.allCases.filter { !$0.lackingKeys.contains(key) }.map { "'\($0.rawValue)'" }
      throw section.wrong(
        key.rawValue,
        expected: "left out: driver '\(driver.rawValue)' cannot set it; drivers that can: "
          + able.joined(separator: ", "))
    }
    rateHz = try section.number("rateHz", in: 0.2...25)
    constellations = try section.choices("constellations", of: Constellation.self)
    dynamicModel = try section.choice("dynamicModel", of: DynamicModel.self)
    powerMode = try section.choice("powerMode", of: PowerMode.self)
    messages = try section.choice("messages", of: Messages.self)
    if driver == .quectel || driver == .unicore, messages == .ubx {
      throw section.wrong("messages", expected: "'nmea' with this driver")
    }
    speed = try section.baudRate("setSpeed")
    saves = try section.boolean("saves") ?? false
    restores = try section.boolean("restores") ?? false
    if saves, restores {
      throw section.wrong("restores", expected: "left out with 'saves': the hub does not restore saved settings")
    }
  }
}

extension BoardSection {
  mutating func baudRate(_ key: String) throws(BoardError) -> BaudRate? {
    guard let number = try integer(key, in: 4800...921_600) else { return nil }
    guard let speed = BaudRate(rawValue: number) else {
      throw wrong(key, expected: "one of " + BaudRate.allCases.map { "\($0.rawValue)" }.joined(separator: ", "))
    }
    return speed
  }

  /// The words of a list, which must have at least one word and no repetitions.
  mutating func choices<Choice: RawRepresentable & CaseIterable>(
    _ key: String, of type: Choice.Type
  ) throws(BoardError) -> [Choice]? where Choice.RawValue == String {
    guard let words = try strings(key) else { return nil }
    let choices = words.compactMap { Choice(rawValue: $0) }
    guard !words.isEmpty, choices.count == words.count, Set(words).count == words.count else {
      let known = Choice.allCases.map(\.rawValue)
      let wrong = words.first { Choice(rawValue: $0) == nil }
      let nearest = wrong.flatMap { word in known.min { editDistance($0, word) < editDistance($1, word) } }
      let guess = wrong.flatMap { word in nearest.flatMap { editDistance($0, word) <= 1 + word.count / 2 ? $0 : nil } }
      throw self.wrong(
        key,
        expected: "a list of some of " + known.map { "'\($0)'" }.joined(separator: ", ")
          + (guess.map { "; did you mean '\($0)'?" } ?? ""))
    }
    return choices
  }
}
