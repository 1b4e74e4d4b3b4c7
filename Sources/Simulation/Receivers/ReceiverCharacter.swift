import MonotonicTime

/// The data sheet values of a module: currents, start times and memories.
struct ReceiverCharacter: Sendable {
  /// Currents in amperes at 3.3 V (3.0 V for u-blox).
  struct Currents: Sendable {
    var searching: Double
    var tracking: Double
    /// The current while tracking in power save mode.
    var saving: Double
    /// The current with processor and UART on, and the radio off.
    var stopped: Double
    var standby: Double
    /// The current while asleep by command, with only the clock running.
    var backup: Double
    /// The current into V_BCKP while the main supply is off.
    var memory: Double
  }

  /// The time to first fix for each kind of start.
  struct Starts: Sendable {
    var cold: Duration
    var warm: Duration
    var hot: Duration
    var aided: Duration

    func time(_ start: ReceiverStart) -> Duration {
      switch start {
      case .cold: cold
      case .warm: warm
      case .hot: hot
      case .aided: aided
      }
    }
  }

  var module: String
  /// The factory speed of the UART in bits per second.
  var speed: Int
  var currents: Currents
  var starts: Starts
  /// Whether settings can be kept without any supply.
  var hasFlash: Bool
  /// The time from supply or wake-up to the first byte that the module can send or receive.
  var bootTime = Duration.milliseconds(300)
}

extension ReceiverCharacter {
  private static func seconds(cold: Double, warm: Double, hot: Double, aided: Double) -> Starts {
    Starts(cold: .seconds(cold), warm: .seconds(warm), hot: .seconds(hot), aided: .seconds(aided))
  }

  /// NEO-6 data sheet (GPS.G6-HW-09005), tables 2 and 11.
  static let neo6M = ReceiverCharacter(
    module: "NEO-6M", speed: 9600,
    currents: Currents(
      searching: 0.047, tracking: 0.039, saving: 0.011, stopped: 0.009, standby: 0.000_022, backup: 0.000_022,
      memory: 0.000_022),
    starts: seconds(cold: 27, warm: 27, hot: 1, aided: 3), hasFlash: false)

  /// NEO-7 data sheet (GPS.G7-HW-11004).
  static let neo7M = ReceiverCharacter(
    module: "NEO-7M", speed: 9600,
    currents: Currents(
      searching: 0.022, tracking: 0.017, saving: 0.005, stopped: 0.006, standby: 0.000_020, backup: 0.000_020,
      memory: 0.000_015),
    starts: seconds(cold: 30, warm: 28, hot: 1, aided: 5), hasFlash: false)

  /// NEO-M8 data sheet (UBX-15031086), with GPS and GLONASS.
  static let neoM8N = ReceiverCharacter(
    module: "NEO-M8N", speed: 9600,
    currents: Currents(
      searching: 0.032, tracking: 0.030, saving: 0.0095, stopped: 0.008, standby: 0.000_030, backup: 0.000_030,
      memory: 0.000_015),
    starts: seconds(cold: 26, warm: 25, hot: 1, aided: 2), hasFlash: true)

  /// NEO-M9N data sheet (UBX-19014285), with four constellations.
  static let neoM9N = ReceiverCharacter(
    module: "NEO-M9N", speed: 38400,
    currents: Currents(
      searching: 0.050, tracking: 0.036, saving: 0.017, stopped: 0.012, standby: 0.000_046, backup: 0.000_046,
      memory: 0.000_045),
    starts: seconds(cold: 24, warm: 22, hot: 2, aided: 2), hasFlash: true)

  /// MAX-M10S data sheet (UBX-20035208).
  static let maxM10S = ReceiverCharacter(
    module: "MAX-M10S", speed: 9600,
    currents: Currents(
      searching: 0.013, tracking: 0.010, saving: 0.006, stopped: 0.005, standby: 0.000_042, backup: 0.000_042,
      memory: 0.000_028),
    starts: seconds(cold: 23, warm: 22, hot: 1, aided: 1), hasFlash: false)

  /// L86 hardware design (MT3333), with GPS and GLONASS.
  static let l86 = ReceiverCharacter(
    module: "L86", speed: 9600,
    currents: Currents(
      searching: 0.030, tracking: 0.026, saving: 0.006, stopped: 0.010, standby: 0.001, backup: 0.000_014,
      memory: 0.000_007),
    starts: seconds(cold: 35, warm: 30, hot: 1, aided: 5), hasFlash: false)

  /// LC86G hardware design (AG3352).
  static let lc86G = ReceiverCharacter(
    module: "LC86G", speed: 115_200,
    currents: Currents(
      searching: 0.014, tracking: 0.013, saving: 0.007, stopped: 0.003, standby: 0.000_6, backup: 0.000_011,
      memory: 0.000_011),
    starts: seconds(cold: 26, warm: 20, hot: 1, aided: 5), hasFlash: true)

  /// LG290P(03) hardware design, by SparkFun's documents. The current with the radio off is not stated; it is assumed to
  /// be as large as with the radio on.
  static let lg290P = ReceiverCharacter(
    module: "LG290P", speed: 460_800,
    currents: Currents(
      searching: 0.091, tracking: 0.091, saving: 0.091, stopped: 0.091, standby: 0.000_012, backup: 0.000_012,
      memory: 0.000_012),
    starts: seconds(cold: 28, warm: 28, hot: 1.7, aided: 5), hasFlash: true)

  /// ATGM336H-5N user manual (AT6558).
  static let atgm336H = ReceiverCharacter(
    module: "ATGM336H", speed: 9600,
    currents: Currents(
      searching: 0.025, tracking: 0.023, saving: 0.023, stopped: 0.012, standby: 0.000_010, backup: 0.000_010,
      memory: 0.000_010),
    starts: seconds(cold: 35, warm: 32, hot: 1, aided: 5), hasFlash: true)

  /// UM982: about 600 mW with both antennas (product brief). It has no sleep mode, so the currents of the sleep modes
  /// here are its operating current. Its start times are approximate.
  static let um982 = ReceiverCharacter(
    module: "UM982", speed: 115_200,
    currents: Currents(
      searching: 0.182, tracking: 0.182, saving: 0.182, stopped: 0.182, standby: 0.182, backup: 0.182,
      memory: 0.000_060),
    starts: seconds(cold: 30, warm: 20, hot: 5, aided: 10), hasFlash: true, bootTime: .seconds(1))
}
