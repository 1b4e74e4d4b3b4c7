import Devices
import HardwareIO

/// A receiver of satellites' signals.
public struct ReceiverDescription: Equatable, Sendable {
  /// The name that the board file gives it.
  public var id: String
  /// In which language it is spoken to, if in any.
  public var driver: ReceiverDriver
  /// Its settings.
  public var settings = ReceiverSettings()
  /// The tty, or the address of a `NetworkSource`.
  public var port: String
  /// `nil` to find out.
  public var speed: BaudRate?
  public var power: Board.Power
  /// Where the kernel has the receiver's pulse at the beginning of each second, such as `/dev/pps0`.
  public var pulse: String?
  /// The antenna as seen from the IMU: forward, right, down, metres.
  public var leverArmMetres: SIMD3<Double>
  /// What must be added to the heading that it states for the heading of the bow, degrees.
  public var headingOffsetDegrees = 0.0
  /// From the instant that a fix is valid for until its first byte arrives.
  public var fixLatency: Duration
  /// Where its corrections come from; `nil` where it gets none. It is read in the same way with those of another caster.
  public var caster: CasterSettings?

  /// Whether it is read in the same way, wherever it sits.
  func isRead(like other: ReceiverDescription) -> Bool {
    (id, port, speed, power.ofReader) == (other.id, other.port, other.speed, other.power.ofReader)
      && (driver, settings) == (other.driver, other.settings)
  }

  /// Whether it keeps its knowledge while it is switched off.
  var remembers: Bool { power.switch != .none && power.hasBackupBattery }

  var orders: ReceiverOrders {
    var orders = ReceiverOrders(
      driver: driver, speed: speed, settings: settings, sleep: power.sleep, isSwitched: power.switch != .none)
    orders.hasBackupBattery = power.hasBackupBattery
    orders.choosesSleep = power.choosesSleep
    return orders
  }
}

extension ReceiverDescription {
  init(_ id: String, _ driver: ReceiverDriver, _ section: BoardSection) throws(BoardError) {
    var section = section
    self.id = id
    self.driver = driver
    port = try section.required("port")
    speed = try section.baudRate("speed")
    settings = try ReceiverSettings(of: driver, &section)
    pulse = try section.string("pps")
    leverArmMetres = try section.vector("leverArmMetres", limit: 1000) ?? .zero
    headingOffsetDegrees = try section.number("headingOffsetDegrees", in: -360...360) ?? 0
    fixLatency =
      try section.number("fixLatencyMilliseconds", in: 0...400).map { .nanoseconds(Int64($0 * 1e6)) } ?? .zero
    caster = try section.section("ntrip").map { (section) throws(BoardError) in try CasterSettings(section) }
    settings.reportsCorrections = caster != nil && settings.messages == .ubx
    // A receiver that is not told to sleep works on.
    power = try Board.Power(
      section.section("power"), typicalMilliamperes: 40, standbyMilliamperes: nil, receiver: driver)
    try checkSource(section)
    try section.finish()
  }

  private func checkSource(_ section: BoardSection) throws(BoardError) {
    guard NetworkSource.isMeant(by: port) else { return }
    guard let source = NetworkSource(port) else {
      throw section.wrong(
        "port",
        expected: "a tty, or an address such as \"tcp://192.168.1.7:10110\", \"udp://:10110\" or \"gpsd://host\"")
    }
    if let key = ["speed", "setSpeed"].first(where: section.has) {
      throw section.wrong(key, expected: "left out: \(port) is on the network, and has no speed")
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
