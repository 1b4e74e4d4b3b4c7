import Glibc
import HardwareIO
import Hub
import MonotonicTime
import Simulation
import TestSupport
import Testing
import VirtualBench

/// The resources that all tests of the bench share, one test at a time.
enum Bench {
  /// Whether this is the virtual bench: only its kernel has this device.
  static let isVirtual = Wiring.file == nil && access("/dev/i2c-relay", R_OK | W_OK) == 0
  /// Elsewhere these tests are skipped, and reported as skipped.
  static let isHere = isVirtual || Wiring.file != nil

  /// The simulated devices of the virtual bench.
  static let board: VirtualBoard = {
    var receiver = SimulatedReceiver.Configuration()
    receiver.timeToFirstFix = .zero
    receiver.rateHz = 10
    do {
      return try VirtualBoard(label: "bench", folder: "/dev/sensorhub", receiver: receiver)
    } catch {
      fatalError("the bench has no devices: \(error)")
    }
  }()

  static let wiring: Wiring = {
    guard let file = Wiring.file else { return Wiring(board) }
    do throws(BoardError) {
      return try Wiring(file: file)
    } catch {
      end("\(error)")
    }
  }()

  /// Ends the run because of a mistake in the wiring. A crash would hide it behind a backtrace.
  private static func end(_ text: String) -> Never {
    var line = "\(text)\n"
    _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(65)
  }

  // On the virtual board, the lines themselves can be read.
  static let gpsLine = isVirtual ? board.gpsLine : sensed(wiring.gps.power)
  static let imuLine = isVirtual ? board.imuLine : sensed(wiring.imu.power)

  private static func sensed(_ line: Wiring.Line) -> LineHistory {
    do throws(HardwareError) {
      return try LineHistory(sensing: line)
    } catch {
      let place = line.place.map { "\($0): " } ?? ""
      // The error's own next step is about a board file.
      guard case .notFound = error else { end("\(place)the loop of the power line cannot be read: \(error)") }
      end(
        "\(place)the loop of the power line cannot be read: \(error.summary); correct 'chip' and 'sense': gpioinfo lists "
          + "the lines")
    }
  }

  /// The settings of the board file that a test changes.
  struct Settings {
    var idleTimeout = 0.0
    var minimumOn = 0.0
    var minimumOff = 0.0
    /// `nil` for the duration that the devices need.
    var settleMilliseconds: Int?
    var imuRateHz = 200
    var usesDataReady = false
    var hasGPS = true
    var hasIMU = true
    /// Whether the board file includes the other devices on the IMU's bus and supply.
    var hasOthers = false
  }

  /// A hub with the bench's devices. The lines are low and their history is empty when this returns.
  static func hub(_ settings: Settings = Settings()) -> HubProcess {
    // Swift's backtracer would resume a thread that received a fault signal from another process.
    let hub = HubProcess(board: boardFile(settings), environment: ["SWIFT_BACKTRACE=enable=no"])
    for line in [gpsLine, imuLine] {
      _ = line.goesLow()
      line.restart()
    }
    return hub
  }

  static func boardFile(_ settings: Settings) -> String {
    let power = { (line: Wiring.Line, more: String) in
      """
      power: { switch: "gpio", chip: "\(line.chip)", line: "\(line.line)", lingerSeconds: \(settings.idleTimeout),
        settleMilliseconds: \(settings.settleMilliseconds ?? (isVirtual ? 0 : 100)),
        minimumOnSeconds: \(settings.minimumOn), minimumOffSeconds: \(settings.minimumOff), \(more) }
      """
    }
    let ready = settings.usesDataReady ? "dataReady: { chip: \"bench\", line: \"\(VirtualBoard.dataReady)\" }," : ""
    let gps =
      settings.hasGPS
      ? "gps: { driver: \"nmea\", port: \"\(wiring.gps.port)\", speed: \(wiring.gps.speed), \(power(wiring.gps.power, settings.hasOthers ? "monitor: \"meter\"" : "")) },"
      : ""
    let imu =
      settings.hasIMU
      ? """
      imu: { driver: "mpu-6050", bus: "\(wiring.imu.bus)", address: \(wiring.imu.address ?? 0x68),
        rateHz: \(settings.imuRateHz), \(ready) \(power(wiring.imu.power, "")) },
      """ : ""
    // The monitor is so fast that it measures during visits of a few hundredths of a second.
    let others = [
      ("spare", "bmi160", ""), ("mag", "lis3mdl", ""), ("baro", "bme280", ""), ("meter", "ina226", "rateHz: 58,"),
    ].map { id, driver, more in
      "\(id): { driver: \"\(driver)\", bus: \"\(wiring.imu.bus)\", \(more) \(power(wiring.imu.power, "")) },"
    }
    let all = ([gps, imu] + (settings.hasOthers ? others : [])).joined(separator: "\n")
    return "{ name: \"bench\", devices: { \(all) }, state: { rateHz: 50 } }"
  }

  /// Prints the kernel's observations for the list at the end of the run.
  static func saw(_ what: String) {
    let name = Test.current?.name.filter { $0 != "`" }.split(separator: "(").first ?? "?"
    print("kernel saw | \(name) | \(what)")
    fflush(nil)
  }

  static func milliseconds(_ duration: Duration) -> String {
    let tenths = Int((duration.inSeconds * 10_000).rounded())
    return "\(tenths / 10).\(tenths % 10) ms"
  }
}
