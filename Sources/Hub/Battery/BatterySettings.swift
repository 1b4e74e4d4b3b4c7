import MonotonicTime

/// The limits of the board's battery, and the steps to take while it is low.
public struct BatterySettings: Equatable, Sendable {
  public static let volts = 0.1...100.0
  static let hysteresisVolts = 0.01...20.0
  static let graceSeconds = 1.0...3600.0
  static let everySeconds = 5.0...3600.0
  static let afterStartSeconds = 0.0...86_400.0

  /// The ID of the supply monitor that measures the battery.
  public var monitor: String
  /// The voltage below which requests are relaxed.
  public var lowVolts: Double
  /// The voltage below which the board shuts down; `nil` if it does not.
  public var criticalVolts: Double?
  /// How far the voltage must rise above a limit before the limit no longer applies.
  public var hysteresisVolts: Double
  /// How long the voltage must be beyond a limit before the limit applies, or no longer applies.
  public var grace: Duration
  /// The time from one measurement to the next while nothing changes.
  public var every: Duration
  /// How long the board stays on after the start of the hub, even if the battery is empty. A person can then log in and
  /// correct a wrong limit.
  public var afterStart: Duration
  /// The steps. They are applied one after the other between the two limits, and each adds to the previous ones. Without
  /// a critical voltage all of them apply below the low voltage.
  public var steps: [Degradation]

  /// By default the hysteresis is 2 % of the low voltage, because each load lowers the voltage a little.
  public init(
    monitor: String, lowVolts: Double, criticalVolts: Double? = nil, hysteresisVolts: Double? = nil,
    grace: Duration = .seconds(30), every: Duration = .seconds(60), afterStart: Duration = .seconds(300),
    steps: [Degradation] = []
  ) {
    self.monitor = monitor
    self.lowVolts = lowVolts
    self.criticalVolts = criticalVolts
    self.hysteresisVolts = hysteresisVolts ?? max(BatterySettings.hysteresisVolts.lowerBound, lowVolts * 0.02)
    self.grace = grace
    self.every = every
    self.afterStart = afterStart
    self.steps = steps
  }

  /// The voltage below which each step applies. A battery without steps has one limit, `lowVolts`.
  public var stepVolts: [Double] {
    let count = max(1, steps.count)
    return (0..<count).map { step in
      guard let criticalVolts else { return lowVolts }
      return lowVolts - Double(step) / Double(count) * (lowVolts - criticalVolts)
    }
  }

  /// The first `stepCount` steps, combined.
  func degradation(_ stepCount: Int) -> Degradation { Degradation.of(steps.prefix(stepCount)) }
}

extension BatterySettings {
  /// - Parameters:
  ///   - devices: the devices of the board
  ///   - sections: their sections
  init(
    _ section: BoardSection, _ devices: [DeviceDescription], _ sections: [BoardSection]
  ) throws(BoardError) {
    var section = section
    let monitor = try section.required("monitor")
    let monitors = devices.filter { $0.kind == .supplyMonitor }.map(\.id)
    guard monitors.contains(monitor) else {
      throw section.wrong(
        "monitor",
        expected: monitors.isEmpty
          ? "a supply monitor, and the board has none in 'devices'"
          : "a supply monitor: " + monitors.joined(separator: " or "))
    }
    if let device = sections.first(where: { $0.path == "devices.\(monitor)" }), device.has("lowVolts") {
      throw device.wrong("lowVolts", expected: "left out: 'battery.low' is the limit of this supply")
    }
    guard let low = try section.number("low", in: BatterySettings.volts) else { throw section.missing("low") }
    let critical = try section.number("critical", in: BatterySettings.volts)
    if let critical, critical >= low { throw section.wrong("critical", expected: "less than 'low'") }
    let hysteresis = try section.number("hysteresis", in: BatterySettings.hysteresisVolts)
    let grace = try section.number("grace", in: BatterySettings.graceSeconds)
    let every = try section.number("every", in: BatterySettings.everySeconds)
    let afterStart = try section.number("afterStart", in: BatterySettings.afterStartSeconds)
    self.init(
      monitor: monitor, lowVolts: low, criticalVolts: critical, hysteresisVolts: hysteresis,
      grace: .nanoseconds(Int64((grace ?? 30) * 1e9)), every: .nanoseconds(Int64((every ?? 60) * 1e9)),
      afterStart: .nanoseconds(Int64((afterStart ?? 300) * 1e9)), steps: try EnergyBudget.steps(&section))
    try section.finish()
  }
}

extension BatterySettings: CustomStringConvertible {
  /// A description such as `supply: below 12 V fixes come at most every 300 s; below 11.5 V for 30 s the board shuts
  /// down`.
  public var description: String {
    var parts: [String] = []
    for (step, volts) in stepVolts.enumerated() where step == 0 || volts < stepVolts[step - 1] {
      let count = criticalVolts == nil ? steps.count : step + 1
      parts.append("below \(volts.shortVolts) V \(degradation(count).text ?? "there is a warning")")
    }
    if let criticalVolts {
      let start = afterStart > .zero ? ", but not in the first \(afterStart.inSeconds.short) s" : ""
      parts.append("below \(criticalVolts.shortVolts) V for \(grace.inSeconds.short) s the board shuts down\(start)")
    }
    return "\(monitor): " + parts.joined(separator: "; ")
  }
}

extension Double {
  /// A voltage for people, in steps of 10 mV.
  var shortVolts: String {
    let rounded = (self * 100).rounded() / 100
    return Int(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
  }
}
